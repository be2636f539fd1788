/** The law of erasures at length: in a directory with a search of its files, with killed processes, and real conversations. */
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import fc from 'fast-check'
import { spawn } from 'node:child_process'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { openLedger } from '../../src/library/compose.js'
import { programFile } from '../support/child.js'
import { ErasingWorld, erasingHistories, type ErasingStep } from '../support/erasing-world.js'
import { repeated } from '../support/length.js'
import { sampleConversation } from '../support/real-conversations.js'
import { describeWithTranscripts, realTranscripts } from '../support/real-transcripts.js'
import { shinglesInFiles } from '../support/shingles.js'

jest.setTimeout(3_600_000)

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'law-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const STEPS = ['wrap', 'destroy', 'destroyed'] as const

/** Another process erases a message and is killed at this step. */
async function eraseUntilKilled(step: string, conversationId: string, messageId: string): Promise<void> {
  const places = [join(folder, 'ledger'), join(folder, 'keys')]
  const child = spawn(
    process.execPath,
    [programFile('erase-until-killed'), ...places, step, JSON.stringify([{ conversationId, messageId }])],
    {
      stdio: 'inherit',
    },
  )
  expect(await new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)))).toBe('SIGKILL')
}

it('erasures at random in a directory, with killed processes: nothing is in a file', async () => {
  const world = await ErasingWorld.open({ store: join(folder, 'ledger'), keys: join(folder, 'keys') })
  try {
    const kills = repeated(9, 1)
    const rounds = fc.sample(erasingHistories(repeated(22, 2)), { numRuns: kills, seed: 20_261_122 })
    for (const [at, history] of rounds.entries()) {
      for (const step of history) await world.step(step)
      const killed = `killed ${String(at)}`
      const texts = ['Ursula Zwickel', 'Quellenweg 17'].map((text) => `${text} ${String(at * 7_919)}`)
      await world.add(
        killed,
        texts.map((content, index) => ({ id: `m${String(index)}`, role: 'user', content })),
      )
      const messageId = world.noteErased(killed, 0)
      await world.close()
      await eraseUntilKilled(STEPS[at % STEPS.length] ?? 'wrap', killed, messageId)
      await world.reopen()
      expect(await world.ledger.admin.erasure.resume()).toHaveLength(1)
      await world.check()
    }
    expect(world.erasures).toBeGreaterThanOrEqual(repeated(100, 1))
  } finally {
    await world.close()
  }
  for (const text of world.erasedTexts().slice(-3)) expect(await shinglesInFiles(folder, text.slice(0, 20))).toEqual([])
})

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
        const again = await ledger.transcripts.import(copy, { from: program })
        expect([again.unchanged, again.conversations.map((each) => each.conversationId)]).toEqual([
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
