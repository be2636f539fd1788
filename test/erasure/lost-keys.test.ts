/** The vault has lost the key of a conversation, before and in the middle of an erasure. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { openLedger } from '../../src/library/compose.js'
import type { Ledger } from '../../src/library/ledger.js'
import { startTransit, TOKEN, type TransitServer } from '../support/transit-server.js'
import { keepEngines } from '../support/kept-engines.js'
import { longTest } from '../support/length.js'

keepEngines()

const LONG = 60_000
let vault: TransitServer
let ledger: Ledger
beforeEach(async () => {
  process.env['VAULT_TOKEN'] = TOKEN
  vault = await startTransit()
  ledger = await openLedger({ store: 'memory', erasable: true, keys: vault.keys, onProblem: () => undefined })
})
afterEach(async () => {
  await ledger.close()
  await vault.http.close()
  delete process.env['VAULT_TOKEN']
})

/** Records a conversation. Returns the name of its key. */
async function record(id: string): Promise<string> {
  const before = vault.http.calls.length
  await ledger.append(id, [
    { id: 'm1', role: 'user', content: `secret of ${id}` },
    { id: 'm2', role: 'assistant', content: 'fine' },
  ])
  const [, name] = vault.http.calls[before]?.split('/') ?? []
  if (name === undefined) throw new Error('the vault was not called')
  return name
}

it(
  'a conversation whose key is lost before its keys are replaced is named, and can be erased as a whole',
  async () => {
    const name = await record('talk')
    const target = { conversationId: 'talk', messageId: 'm1' }
    vault.http.interfere = (call) => (call.startsWith('POST encrypt') ? [503, { errors: [] }] : undefined)
    await expect(ledger.admin.erasure.run(target, { reason: 'r' })).rejects.toMatchObject({
      kind: 'KeyVaultUnavailable',
    })
    vault.http.interfere = () => undefined
    vault.forget(name)
    await expect(ledger.admin.erasure.resume()).rejects.toMatchObject({
      kind: 'KeyUnknown',
      message: expect.stringMatching(/conversation "talk".*erase the conversation/u),
      details: { conversationId: 'talk' },
    })
    expect((await ledger.admin.verify()).problems.map(({ rule }) => rule)).toContain('readable')

    const [erased] = await ledger.admin.erasure.run({ conversationId: 'talk' }, { reason: 'r' })
    expect(erased?.receipt).toMatchObject({ messages: 2, keys: [name] })
    expect(await ledger.admin.erasure.resume()).toHaveLength(1)
    const verified = await ledger.admin.verify()
    expect([verified.problems, verified.observations]).toEqual([[], []])
    expect((await ledger.context('talk')).messages.map(({ content }) => content)).not.toContain('secret of talk')
  },
  LONG,
)

longTest(
  'a former key that is lost after the keys are replaced does not stop the erasure',
  async () => {
    const name = await record('talk')
    vault.http.interfere = (call) => (call.endsWith('/rotate') ? [503, { errors: [] }] : undefined)
    const target = { conversationId: 'talk', messageId: 'm1' }
    await expect(ledger.admin.erasure.run(target, { reason: 'r' })).rejects.toMatchObject({
      kind: 'KeyVaultUnavailable',
    })
    vault.http.interfere = () => undefined
    vault.forget(name)
    expect(await ledger.admin.erasure.resume()).toHaveLength(1)
    expect((await ledger.context('talk')).messages.map(({ content }) => content)).toEqual(['[erased]', 'fine'])
    const verified = await ledger.admin.verify()
    expect([verified.problems, verified.observations]).toEqual([[], []])
  },
  LONG,
)

it(
  'reading a conversation whose keys are not in memory calls the vault once',
  async () => {
    await record('talk')
    await ledger.admin.erasure.run({ conversationId: 'talk', messageId: 'm1' }, { reason: 'r' })
    await ledger.append('talk', [{ id: 'm3', role: 'user', content: 'more' }])
    // The read models need the keys too.
    await ledger.admin.projections.catchUp()
    vault.http.calls.length = 0
    const types: string[] = []
    for await (const { type } of ledger.log('talk')) types.push(type)
    // Events of an erasure make a process read the keys again.
    expect(types.slice(-3)).toEqual(['ErasureRequested', 'ErasureCompleted', 'MessageAppended'])
    expect(vault.http.calls.map((call) => call.replace(/\/.*/u, ''))).toEqual(['POST decrypt'])
  },
  LONG,
)
