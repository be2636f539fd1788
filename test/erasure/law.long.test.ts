/**
 * The law of erasures in real conversations and transcripts. `random-erasures.long.test.ts` has directories and killed
 * processes.
 */
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import fc from 'fast-check'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { openLedger } from '../../src/library/compose.js'
import { ErasingWorld, erasingHistories, type ErasingStep } from '../support/erasing-world.js'
import { repeated } from '../support/length.js'
import { sampleConversation } from '../support/real-conversations.js'
import { describeWithTranscripts, realTranscripts } from '../support/real-transcripts.js'

jest.setTimeout(3_600_000)

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'law-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

it('erasures at random in a real conversation', async () => {
  const { messages } = sampleConversation()
  const world = await ErasingWorld.open({ store: 'memory' })
  try {
    await world.add(
      'talk1',
      messages.map((message, at) => ({ ...message, id: message.id ?? `m${String(at)}` })),
    )
    const [history = []] = fc.sample(erasingHistories(repeated(60, 2)), { numRuns: 1, seed: 1 })
    const inRealOne = (step: ErasingStep): ErasingStep => ('of' in step ? { ...step, of: 1 } : step)
    for (const step of history) if (step.kind !== 'erase-conversation') await world.step(inRealOne(step))
    expect(world.erasures).toBeGreaterThan(0)
  } finally {
    await world.close()
  }
})

describeWithTranscripts('transcripts of other programs', () => {
  it('are imported again after an erasure, and nothing comes back', async () => {
    const programs = new Map((await realTranscripts()).map((transcript) => [transcript.program, transcript]))
    for (const { path, program } of ['claude-code', 'codex', 'gemini'].flatMap((name) => programs.get(name) ?? [])) {
      const ledger = await openLedger({ store: 'memory', erasable: true, keys: createMemoryKeyVault() })
      try {
        const [conversation] = (await ledger.transcripts.import(path)).conversations
        const conversationId = conversation?.conversationId ?? ''
        const contents = async () => {
          const found = new Map<string, unknown>()
          for await (const { type, data } of ledger.log(conversationId))
            if (type === 'MessageAppended') found.set(data.messageId, [data.content, data.toolCalls])
          return found
        }
        const before = await contents()
        const ids = [...before.keys()].filter((_id, at) => at % Math.ceil(before.size / 3) === 0)
        for (const messageId of ids) await ledger.admin.erasure.run({ conversationId, messageId }, { reason: 'r' })
        const erased = await contents()
        // A file at another path is read again, like one that has changed.
        const copy = join(folder, basename(path))
        await copyFile(path, copy)
        const repeatedImport = await ledger.transcripts.import(copy, { from: program })
        expect([repeatedImport.unchanged, repeatedImport.conversations.map((each) => each.conversationId)]).toEqual([
          false,
          [conversationId],
        ])
        await ledger.admin.projections.rebuild('all')
        expect(await contents()).toEqual(erased)
        const placeholders = ids.map((id) => JSON.stringify(erased.get(id)))
        expect(placeholders.filter((text) => !/\[erased\]|^\[null|^\[""/u.test(text))).toEqual([])
        const remaining = (all: ReadonlyMap<string, unknown>) => [...all].filter(([id]) => !ids.includes(id))
        expect(remaining(erased)).toEqual(remaining(before))
        const verified = await ledger.admin.verify()
        expect(verified.problems).toEqual([])
      } finally {
        await ledger.close()
      }
    }
  })
})
