/**
 * Copies the keys of an erasable ledger to a copy of it. In the same vault, both use the same keys; in another vault,
 * every data key is wrapped again.
 */
import type { KeyringRecord, KeyringRows } from '../../ports/keyring-store.js'
import type { TextKeys } from './text-keys.js'

/** Calls to a vault at a time. */
const AT_ONCE = 8

/** Whether both ledgers use the same keys, so that an erasure in one of them destroys keys of the other. */
export const sharesKeys = (from: TextKeys, to: TextKeys): boolean => from.vault.name === to.vault.name

/**
 * Copies everything that `from` stores of keys. Returns the number of conversations.
 * @param to the keys of a ledger that was made with `TextKeys.createCopy`, and whose log is the beginning of the other log
 */
export async function copyKeys(from: TextKeys, to: TextKeys): Promise<number> {
  let conversations = 0
  for await (const rows of from.store.rows()) {
    conversations += rows.records.length
    await to.store.putRows(sharesKeys(from, to) ? rows : { ...rows, records: await wrappedAgain(rows, from, to) })
    for (const { conversationId } of rows.records) to.forget(conversationId)
  }
  return conversations
}

async function wrappedAgain({ records }: KeyringRows, from: TextKeys, to: TextKeys): Promise<KeyringRecord[]> {
  const wrapped: KeyringRecord[] = []
  for (let at = 0; at < records.length; at += AT_ONCE)
    wrapped.push(...(await Promise.all(records.slice(at, at + AT_ONCE).map((record) => wrapAgain(record, from, to)))))
  return wrapped
}

async function wrapAgain(record: KeyringRecord, from: TextKeys, to: TextKeys): Promise<KeyringRecord> {
  const { conversationId, generation, keys } = record
  // The whole conversation was erased.
  if (record.wrapped === '') return record
  const copied = await to.store.get(conversationId)
  // An earlier copy has wrapped the same data key: it encrypts the same keyring.
  if (copied?.keys === keys && copied.generation === generation) return { ...record, wrapped: copied.wrapped }
  try {
    const dataKey = await from.unwrap(record)
    return { ...record, wrapped: await to.vault.wrap(to.vaultKeyOf(conversationId, generation), dataKey) }
  } catch (error) {
    const now = await from.store.get(conversationId)
    if (now === undefined || now.version === record.version) throw error
    // An erasure has destroyed the key after the record was read.
    return await wrapAgain(now, from, to)
  }
}
