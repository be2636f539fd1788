/** Erasures that are interrupted, with a vault that denies, a process that is killed, and tampered keys. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { openLedger } from '../../src/library/compose.js'
import type { Ledger } from '../../src/library/ledger.js'
import { keyVaultError, type KeyVault } from '../../src/ports/key-vault.js'
import { programFile } from '../support/child.js'
import { isLong, longTest } from '../support/length.js'
import { shinglesInFiles } from '../support/shingles.js'

const LONG = 300_000
const SECRET = 'Ursula Zwickel lives at Quellenweg 17 in Bad Wurzach'
const STEPS = isLong
  ? ['wrap', 'destroy', 'destroyed', 'before:ErasureCompleted', 'before:delete from pending_erasures']
  : ['destroyed']
let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'interrupted-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Number of receipts of a conversation with one erasure. */
async function completions(ledger: Ledger, conversationId: string): Promise<number> {
  let count = 0
  for await (const { type } of ledger.log(conversationId)) if (type === 'ErasureCompleted') count += 1
  return count
}

it(
  'a vault that denies leaves an erasure that `resume` completes, and blocks only what copies texts',
  async () => {
    const memory = createMemoryKeyVault()
    let isDenied = true
    const vault: KeyVault = {
      ...memory,
      destroy: (keyName) =>
        isDenied ? Promise.reject(keyVaultError('KeyVaultDenied', `${keyName} denied`)) : memory.destroy(keyName),
    }
    const ledger = await openLedger({ store: 'memory', erasable: true, keys: vault })
    try {
      await ledger.append('talk', [
        { id: 'm1', role: 'user', content: SECRET },
        { id: 'm2', role: 'assistant', content: 'fine' },
      ])
      const target = { conversationId: 'talk', messageId: 'm1' }
      await expect(ledger.admin.erasure.run(target, { reason: 'r' })).rejects.toMatchObject({ kind: 'KeyVaultDenied' })
      const pending = await ledger.admin.verify()
      expect(pending.observations.map(({ rule }) => rule)).toContain('erasure')
      await ledger.append('talk', [{ id: 'm3', role: 'user', content: 'goes on' }])
      isDenied = false
      expect(await ledger.admin.erasure.resume()).toHaveLength(1)
      expect(await ledger.admin.erasure.resume()).toEqual([])
      expect((await ledger.context('talk')).messages.map(({ content }) => content)).toEqual([
        '[erased]',
        'fine',
        'goes on',
      ])
      const verified = await ledger.admin.verify()
      expect([verified.problems, verified.observations]).toEqual([[], []])
    } finally {
      await ledger.close()
    }
  },
  LONG,
)

longTest(
  'a process that is killed at any step leaves an erasure that the next one completes',
  async () => {
    const places = { store: join(folder, 'ledger'), keys: join(folder, 'keys') }
    const ledger = await openLedger({ ...places, erasable: true })
    const idOf = (step: string) => `talk ${String(STEPS.indexOf(step))}`
    for (const step of STEPS)
      await ledger.append(idOf(step), [
        { id: 'm1', role: 'user', content: `${SECRET} ${step}` },
        { id: 'm2', role: 'assistant', content: 'fine' },
      ])
    await ledger.close()
    for (const step of STEPS) {
      const target = JSON.stringify([{ conversationId: idOf(step), messageId: 'm1' }])
      const words = [programFile('erase-until-killed'), places.store, places.keys, step, target]
      const child = spawn(process.execPath, words, { stdio: 'inherit' })
      expect(await new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)))).toBe('SIGKILL')
    }
    const reopened = await openLedger(places)
    expect((await reopened.admin.erasure.resume()).map(({ conversationId }) => conversationId).toSorted()).toEqual(
      STEPS.map(idOf),
    )
    for (const step of STEPS) {
      const [erasure, ...others] = await reopened.admin.erasure.receipts(idOf(step))
      expect([others, erasure?.receipt?.messages, erasure?.receipt?.keys.length]).toEqual([[], 1, 1])
      expect(await completions(reopened, idOf(step))).toBe(1)
    }
    for (const step of STEPS)
      expect((await reopened.context(idOf(step))).messages.map(({ content }) => content)).toEqual(['[erased]', 'fine'])
    const verified = await reopened.admin.verify()
    expect([verified.problems, verified.observations]).toEqual([[], []])
    await reopened.close()
    expect(await shinglesInFiles(folder, SECRET)).toEqual([])
  },
  LONG,
)

it(
  'removed keys are found by verify, and an import of the same transcript brings nothing back',
  async () => {
    const ledger = await openLedger({ store: 'memory', erasable: true, keys: createMemoryKeyVault() })
    try {
      const message = { role: 'user', content: SECRET, created_at: '2026-01-01T10:00:00.000Z' } as const
      await ledger.append('talk', [message])
      await ledger.admin.erasure.run({ conversationId: 'talk' }, { reason: 'r' })
      await ledger.append('imported again', [message, { role: 'assistant', content: 'fine' }])
      expect((await ledger.context('imported again')).messages.map(({ content }) => content)).toEqual([
        '[erased]',
        'fine',
      ])
      // The same words at another time are another message.
      await ledger.append('other', [{ ...message, created_at: '2026-01-02T10:00:00.000Z' }])
      expect((await ledger.context('other')).messages[0]?.content).toBe(SECRET)
    } finally {
      await ledger.close()
    }
  },
  LONG,
)
