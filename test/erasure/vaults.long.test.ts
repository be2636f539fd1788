/** An erasable ledger with its keys in a scripted Vault, which goes down in the middle of an erasure. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger } from '../../src/library/compose.js'
import { shinglesInFiles } from '../support/shingles.js'
import { startTransit, TOKEN, type TransitServer } from '../support/transit-server.js'

const LONG = 120_000
const SECRET = 'Ursula Zwickel lives at Quellenweg 17 in Bad Wurzach'
const KEPT = 'the weather is nice'
let folder: string
let vault: TransitServer
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vaults-'))
  vault = await startTransit()
  process.env['VAULT_TOKEN'] = TOKEN
})
afterEach(async () => {
  delete process.env['VAULT_TOKEN']
  await vault.http.close()
  await rm(folder, { recursive: true, force: true })
})

it(
  'an erasure that loses its vault in the middle is completed when the vault is back, and brings nothing back',
  async () => {
    const places = { store: join(folder, 'ledger'), keys: vault.keys }
    const before = await openLedger({ ...places, erasable: true })
    for (const id of ['part', 'kept', 'whole'])
      await before.append(id, [
        { id: 'm1', role: 'user', content: id === 'kept' ? KEPT : `${SECRET} ${id}` },
        { id: 'm2', role: 'assistant', content: 'fine' },
      ])
    const interrupted = [
      [{ conversationId: 'part', messageId: 'm1' }, '/trim'],
      [{ conversationId: 'whole' }, '/config'],
    ] as const
    for (const [target, step] of interrupted) {
      vault.http.interfere = (call) => (call.endsWith(step) ? [400, { errors: ['Vault is lost'] }] : undefined)
      await expect(before.admin.erasure.run(target, { reason: 'r' })).rejects.toMatchObject({
        kind: 'KeyVaultUnavailable',
      })
    }
    const pending = await before.admin.verify()
    expect(pending.observations.filter(({ rule }) => rule === 'erasure')).toHaveLength(2)
    await before.close()
    vault.http.interfere = () => undefined

    const ledger = await openLedger(places)
    try {
      const resumed = await ledger.admin.erasure.resume()
      expect(resumed.map(({ conversationId }) => conversationId).toSorted()).toEqual(['part', 'whole'])
      expect(resumed[0]?.receipt.vault).toBe(`Vault ${vault.server}, transit engine transit`)
      expect((await ledger.context('part')).messages.map(({ content }) => content)).toEqual(['[erased]', 'fine'])
      expect((await ledger.context('kept')).messages[0]?.content).toBe(KEPT)
      const verified = await ledger.admin.verify()
      expect([verified.problems, verified.observations]).toEqual([[], []])
      await expect(ledger.append('whole', [{ role: 'user', content: 'again' }])).rejects.toMatchObject({
        kind: 'ConversationErased',
      })
    } finally {
      await ledger.close()
    }
    expect(await shinglesInFiles(folder, SECRET)).toEqual([])
  },
  LONG,
)

it(
  'a ledger whose vault is down or another one is an error that names the vault',
  async () => {
    const places = { store: join(folder, 'ledger'), keys: vault.keys }
    await (await openLedger({ ...places, erasable: true })).close()
    const secondTransit = await startTransit()
    try {
      await expect(openLedger({ ...places, keys: secondTransit.keys })).rejects.toMatchObject({
        kind: 'KeyUnknown',
        message: expect.stringContaining(secondTransit.server),
      })
    } finally {
      await secondTransit.http.close()
    }
    vault.http.interfere = () => 'cut'
    await expect(openLedger(places)).rejects.toMatchObject({
      kind: 'KeyVaultUnavailable',
      message: expect.stringContaining(vault.server),
    })
  },
  LONG,
)
