/** Checkpoints of a ledger, and what `verify` finds against one. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { noteText, signatureLine, verifierKeyOf } from '../../src/domain/proof/checkpoint.js'
import type { Ledger, RecordedCheckpoint } from '../../src/index.js'
import type { Database } from '../../src/ports/sql.js'
import { describeProvableLog, say } from '../contracts/provable-log.js'
import { attack, ledgerOn } from '../support/ledger-on-database.js'
import { serverDescribe } from '../support/length.js'
import { openTestDatabase } from '../support/memory-database.js'
import { openTestSchema } from '../support/postgres.js'

const { privateKey: key } = generateKeyPairSync('ed25519')

const DATABASES = [
  {
    name: 'an embedded database',
    run: describe,
    open: async () => ({ db: await openTestDatabase(), drop: () => Promise.resolve() }),
  },
  { name: 'a Postgres server', run: serverDescribe, open: () => openTestSchema() },
]

for (const { name, run, open } of DATABASES)
  describeProvableLog(
    name,
    async () => {
      const { db, drop } = await open()
      const ledger = await ledgerOn(db)
      return {
        ledger,
        async close() {
          await ledger.close()
          await db.close()
          await drop()
        },
      }
    },
    run,
  )

for (const { name, run, open } of DATABASES)
  run(name, () => {
    let db: Database
    let ledger: Ledger

    let drop: () => Promise<void>

    beforeEach(async () => {
      ;({ db, drop } = await open())
      ledger = await ledgerOn(db)
    })
    afterEach(async () => {
      await ledger.close()
      await db.close()
      await drop()
    })

    const against = async (checkpoint: RecordedCheckpoint): Promise<readonly string[]> =>
      (
        await ledger.admin.verify(undefined, { checkpoint: { note: checkpoint.note, signer: createPublicKey(key) } })
      ).problems.map(({ rule, stream, revision, detail }) => `${rule} ${stream} ${String(revision)}: ${detail}`)

    it('names the event that was changed, although the chain was recomputed', async () => {
      await say(ledger, 'a', 3)
      await say(ledger, 'b', 5)
      const checkpoint = await ledger.admin.proofs.createCheckpoint({ key })
      await say(ledger, 'b', 2)
      const attacker = await attack(db)
      await attacker.run(
        `update events set data = replace(data, 'message 3 of b', 'message 3 of B') where stream = 'conversation-b'`,
      )
      await attacker.rechain('conversation-b')
      const problems = (await against(checkpoint)).filter((problem) => problem.startsWith('checkpoint'))
      expect(problems.join('\n')).toMatch(
        /checkpoint conversation-b \d+: event \d+ of the log, at position \d+, is not the one/u,
      )
      expect(problems.join('\n')).toMatch(
        /the events before the checkpoint of \d+ events are not those that it covers/u,
      )
    })

    it('computes a damaged tree again, and refuses to sign a log that does not continue from its checkpoint', async () => {
      await say(ledger, 'a', 3)
      const { proofs } = ledger.admin
      const first = await proofs.createCheckpoint({ key })
      await say(ledger, 'a', 2)
      await db.script(`update proof_tiles set hashes = decode(repeat('ab', octet_length(hashes)), 'hex')`)
      const second = await proofs.createCheckpoint({ key })
      expect(await against(first)).toEqual([])
      expect(await against(second)).toEqual([])
      await say(ledger, 'a', 1)
      const attacker = await attack(db)
      await attacker.run(
        `update events set data = replace(data, 'message 1', 'message I') where stream = 'conversation-a'`,
      )
      await attacker.rechain('conversation-a')
      await db.script(`delete from proof_tiles; update proof_tree set size = 0, position = -1`)
      await expect(proofs.createCheckpoint({ key })).rejects.toMatchObject({ kind: 'TreeDamaged' })
      expect(await proofs.checkpoints()).toHaveLength(2)
    })

    it('finds an earlier state of the log, another log, and bounds a change by other checkpoints', async () => {
      await say(ledger, 'a', 3)
      const { proofs } = ledger.admin
      const early = await proofs.createCheckpoint({ key })
      await say(ledger, 'a', 5)
      const middle = await proofs.createCheckpoint({ key })
      await say(ledger, 'a', 5)
      const late = await proofs.createCheckpoint({ key })
      const attacker = await attack(db)
      await attacker.run(
        `update events set data = replace(data, 'message 4', 'message D') where stream = 'conversation-a'`,
      )
      await attacker.rechain('conversation-a')
      // The stored tree is computed again, so only the checkpoints know.
      await db.script(`delete from proof_tiles; update proof_tree set size = 0, position = -1`)
      expect((await against(late)).join('\n')).toContain(
        `the first change is between events ${String(early.size)} and ${String(middle.size - 1)}`,
      )
      expect((await against(early)).join('\n')).not.toContain('before the checkpoint of 4')
      await attacker.undo()
      await attacker.run(`delete from events where position >= ${String(middle.size)}`)
      expect((await against(late)).join('\n')).toMatch(/fewer than the checkpoint of \d+ events: \d+ are missing/u)
      await attacker.undo()
      const secondDatabase = await openTestDatabase()
      const otherLedger = await ledgerOn(secondDatabase)
      await otherLedger.append('a', { role: 'user', content: 'message 0 of a' })
      const { problems } = await otherLedger.admin.verify(undefined, {
        checkpoint: { note: late.note, signer: createPublicKey(key) },
      })
      expect(problems.map(({ detail }) => detail)).toEqual([expect.stringContaining('it is another log')])
      await otherLedger.close()
      await secondDatabase.close()
    })

    it('refuses a text that is no checkpoint, a changed one, and one of another signer', async () => {
      await say(ledger, 'a', 2)
      const { note, verifierKeys } = await ledger.admin.proofs.createCheckpoint({ key })
      const refused = async (given: object): Promise<unknown> =>
        await ledger.admin.verify(undefined, { checkpoint: { note, ...given } }).catch((error: unknown) => error)
      expect(await refused({ note: 'hello' })).toMatchObject({ kind: 'NoCheckpoint' })
      expect(await refused({ note: note.replace('\n3\n', '\n4\n') })).toMatchObject({ kind: 'CheckpointChanged' })
      const { publicKey } = generateKeyPairSync('ed25519')
      expect(await refused({ signer: publicKey })).toMatchObject({ kind: 'OtherSigner' })
      expect(await refused({ signer: `sha256:${'0'.repeat(64)}` })).toMatchObject({ kind: 'BadKey' })
      expect(await refused({ witnesses: ['nobody'] })).toMatchObject({ kind: 'BadKey' })
      expect(await refused({ note: 5 })).toMatchObject({ kind: 'BadInput' })
      expect(verifierKeys).toHaveLength(1)
      await expect(ledger.admin.proofs.createCheckpoint({ key: 'none' })).rejects.toMatchObject({ kind: 'BadInput' })
    })

    it('a second key signs the same checkpoint, and lines of others are kept', async () => {
      await say(ledger, 'a', 2)
      const { proofs } = ledger.admin
      const { size } = await proofs.createCheckpoint({ key })
      const { privateKey: other } = generateKeyPairSync('ed25519')
      const both = await proofs.createCheckpoint({ key: other })
      expect(both.size).toBe(size)
      expect(both.signedBy).toHaveLength(2)
      const line = `— witness.example/w ${Buffer.alloc(76, 1).toString('base64')}`
      const attached = await proofs.attach({ signatures: [line, line], timeStamp: Uint8Array.of(1, 2) })
      expect(attached).toMatchObject({ otherSigners: ['witness.example/w'], signedBy: both.signedBy })
      expect(attached.note.trimEnd().split('\n').at(-1)).toBe(line)
      await expect(proofs.attach({ signatures: ['hello'] })).rejects.toMatchObject({ kind: 'NoCheckpoint' })
      expect(await against(attached)).toEqual([])
    })

    it('a line or a note that would make a stored checkpoint unreadable is refused, and nothing is stored', async () => {
      await say(ledger, 'a', 2)
      const { proofs } = ledger.admin
      const first = await proofs.createCheckpoint({ key })
      await say(ledger, 'a', 2)
      const second = await proofs.createCheckpoint({ key })
      await say(ledger, 'a', 2)
      const lineOf = (note: string): string => note.trimEnd().split('\n').at(-1) ?? ''
      const { text, origin } = await proofs.draftCheckpoint()
      const fitting = signatureLine(origin, key, text)
      const cases: readonly (() => Promise<unknown>)[] = [
        // The ledger's own line of another checkpoint.
        () => proofs.attach({ signatures: [lineOf(first.note)] }),
        () => proofs.attach({ signatures: [lineOf(second.note)] }, first.size),
        () => proofs.attach({ signatures: [`— witness\u0001 ${Buffer.alloc(76, 1).toString('base64')}`] }),
        // More lines than a note may have.
        () => proofs.attach({ signatures: [`— witness ${Buffer.alloc(90_000, 1).toString('base64')}`] }),
        () =>
          proofs.storeCheckpoint({
            note: noteText(text, [fitting, lineOf(first.note)]),
            verifierKey: first.verifierKeys[0] ?? '',
          }),
      ]
      for (const refused of cases) {
        await expect(refused()).rejects.toMatchObject({ kind: 'NoCheckpoint' })
        expect(await proofs.checkpoints()).toEqual([first, second])
      }
      expect(await proofs.createCheckpoint({ key })).toMatchObject({ note: noteText(text, [fitting]) })
    })

    it('a checkpoint with extension lines keeps them when lines are attached, and another text does not replace it', async () => {
      await say(ledger, 'a', 2)
      const { proofs } = ledger.admin
      const { text, origin } = await proofs.draftCheckpoint()
      const body = `${text}an extension line\n`
      const { privateKey: other } = generateKeyPairSync('ed25519')
      const stored = await proofs.storeCheckpoint({
        note: noteText(body, [signatureLine(origin, key, body)]),
        verifierKey: verifierKeyOf(origin, key).text,
      })
      const line = `— witness.example/w ${Buffer.alloc(76, 1).toString('base64')}`
      const attached = await proofs.attach({ signatures: [line] })
      expect(attached).toMatchObject({ note: `${stored.note}${line}\n`, signedBy: stored.signedBy })
      expect(await against(attached)).toEqual([])
      await expect(proofs.createCheckpoint({ key: other })).rejects.toMatchObject({ kind: 'NoCheckpoint' })
      expect(await proofs.checkpoints()).toEqual([attached])
    })
  })
