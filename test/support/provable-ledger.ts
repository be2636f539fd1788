/** A ledger with everything that evidence can have: answers, summaries, merged summaries, large bodies, two streams. */
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { Ledger } from '../../src/index.js'
import type { Database } from '../../src/ports/sql.js'
import { SMALL, say } from './conversations.js'
import { ledgerOn } from './ledger-on-database.js'
import { openTestDatabase } from './memory-database.js'

export interface ProvableLedger {
  readonly db: Database
  readonly ledger: Ledger
  readonly key: KeyObject
  readonly publicKey: KeyObject
  close(): Promise<void>
}

export const CONVERSATION = 'harbour/é “1”'
/** A text that is stored outside the log, with characters that JSON and HTML write in several ways. */
export const LARGE = `</script><b>&amp; "quoted" \u2028 \0 😀 €${'€ a large text '.repeat(6_000)}`

/** Appends messages; each answer names the context that it answers. */
export async function converse(ledger: Ledger, messages: number, from = 0): Promise<void> {
  for (let at = from; at < from + messages; at += 1) {
    const message = say(at)
    if (message.role === 'assistant') {
      const { revision, hash } = await ledger.context(CONVERSATION)
      await ledger.append(CONVERSATION, { ...message, answers: { revision: revision.toString(), hash } })
    } else await ledger.append(CONVERSATION, message)
    await ledger.admin.waitForCompaction(CONVERSATION)
  }
}

/** Opens the ledger with a conversation of this number of messages. */
export async function openProvableLedger(messages = 60): Promise<ProvableLedger> {
  const { privateKey } = generateKeyPairSync('ed25519')
  const db = await openTestDatabase()
  const ledger = await ledgerOn(db, { policy: { ...SMALL, buffer: 3 } })
  await ledger.append('earlier', { role: 'user', content: 'What the log begins with.' })
  await ledger.append('other', { id: 'large', role: 'user', content: LARGE })
  await converse(ledger, messages)
  return {
    db,
    ledger,
    key: privateKey,
    publicKey: createPublicKey(privateKey),
    async close() {
      await ledger.close()
      await db.close()
    },
  }
}
