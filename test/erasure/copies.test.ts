/** Copies of messages that the ledger makes in other conversations are erased with their originals. */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { sessionWriters } from '../../src/application/handoff/writers/index.js'
import { openLedger, type ErasureTarget, type Ledger, type MessageInput } from '../../src/index.js'
import { SMALL } from '../support/conversations.js'
import { isLong, longTest } from '../support/length.js'
import { logText } from '../support/log-text.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

jest.setTimeout(300_000)

const CWD = '/srv/harbour'
const PROGRAMS = sessionWriters.map(({ program }) => program)

let home: string
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'context-ledger-'))
  for (const program of PROGRAMS) await mkdir(join(home, program), { recursive: true })
  await mkdir(join(home, 'gemini', 'tmp', 'harbour'), { recursive: true })
  await writeFile(join(home, 'gemini', 'tmp', 'harbour', '.project_root'), CWD)
})
afterAll(async () => {
  await rm(home, { recursive: true, force: true })
})

/** Message `m<at>` says `pelican<at>`; Anna's are m3 and m12. */
const message = (at: number): MessageInput => ({
  id: `m${String(at)}`,
  role: at % 2 === 0 ? 'user' : 'assistant',
  content: `Text ${String(at)}: always use pelican${String(at)}! ${'and so on '.repeat(30)}`,
  ...(at === 3 || at === 12 ? { subjects: ['anna@example.org'] } : {}),
})

const open = (): Promise<Ledger> =>
  openLedger({
    store: 'memory',
    erasable: true,
    keys: createMemoryKeyVault(),
    policy: { ...SMALL, maxSummaryTokens: 400 },
    summarizer: (messages) => Promise.resolve(messages.map(({ content }) => JSON.stringify(content)).join(' / ')),
  })

/** A compacted conversation, handed over from program to program. Returns the ids, the original first. */
async function handedOver(ledger: Ledger, programs: readonly string[]): Promise<string[]> {
  await ledger.append(
    'talk',
    Array.from({ length: 14 }, (_none, at) => message(at)),
  )
  await ledger.compact('talk')
  const ids = ['talk']
  for (const to of programs) {
    const from = ids.at(-1) ?? ''
    const handoff = await ledger.transcripts.handoff(from, { to, home: join(home, to), cwd: CWD })
    ids.push(handoff.conversationId)
  }
  return ids
}

/** Messages older than the two newest are in the sessions only as summary and note. */
const TARGETS: readonly { target: ErasureTarget; gone: readonly number[]; stays: readonly number[] }[] = [
  { target: { subject: 'anna@example.org' }, gone: [3, 12], stays: [13] },
  { target: { conversationId: 'talk', messageId: 'm12' }, gone: [12], stays: [13] },
  { target: { conversationId: 'talk', messageId: 'm3' }, gone: [3], stays: [12, 13] },
  { target: { conversationId: 'talk' }, gone: Array.from({ length: 14 }, (_none, at) => at), stays: [] },
]

/** Numbers of messages that a reader still finds. */
const readable = (text: string): number[] => [
  ...new Set([...text.matchAll(/pelican(?<at>\d+)!/gu)].map(({ groups }) => Number(groups?.['at']))),
]

it('a note for the agent is erased with what it quotes; a user, a model or a file that quotes its first sentence is not', async () => {
  const note = (word: string): string =>
    `Recalled from the log of this conversation after its context was compacted.\n\nRules\n- “always use ${word}!” (r1)`
  const call = (id: string, name: string, text = '{}'): MessageInput => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name, arguments: text } }],
  })
  const result = (id: string, content: string): MessageInput => ({ role: 'tool', tool_call_id: id, content })
  const ledger = await open()
  try {
    await ledger.append('notes', [
      { id: 'm0', role: 'user', content: 'Always use pelican0!', subjects: ['anna@example.org'] },
      { role: 'user', content: `<system-reminder>\n${note('pelican1')}\n</system-reminder>` },
      { role: 'user', content: [{ type: 'text', text: note('pelican2') }] },
      { role: 'user', content: 'SessionStart hook: x', attributes: { byProgram: true } },
      { role: 'user', content: `SessionStart hook: ${note('pelican3')}`, attributes: { byProgram: true } },
      call('a', 'mcp__context-ledger__recall'),
      result('a', JSON.stringify({ text: note('pelican4') })),
      call('b', 'bash', JSON.stringify({ command: 'npx context-ledger recall talk' })),
      result('b', note('pelican5')),
      { role: 'user', content: `What is “${note('pelican10')}”, please?` },
      { role: 'assistant', content: note('pelican11') },
      call('c', 'bash', JSON.stringify({ command: 'grep -r Recalled src' })),
      result('c', `src/note.ts: ${note('pelican12')}`),
      call('d', 'recall'),
      result('d', 'Nothing is missing: pelican13!'),
    ])
    await ledger.admin.erasure.run({ subject: 'anna@example.org' }, { reason: 'r' })
    expect(readable(await logText(ledger, 'notes')).toSorted((a, b) => a - b)).toEqual([10, 11, 12, 13])
  } finally {
    await ledger.close()
  }
})

longTest('an original is erased after its copy was erased as a whole', async () => {
  const ledger = await open()
  try {
    const [, copy = ''] = await handedOver(ledger, PROGRAMS.slice(0, 1))
    await ledger.admin.erasure.run({ conversationId: copy }, { reason: 'r' })
    await ledger.admin.erasure.run({ subject: 'anna@example.org' }, { reason: 'r' })
    expect(readable(await logText(ledger, 'talk'))).not.toContain(3)
    expect((await ledger.admin.verify()).problems).toEqual([])
  } finally {
    await ledger.close()
  }
})

describe.each(PROGRAMS.map((to, at) => ({ to, at })))('a session for $to', ({ to, at: program }) => {
  it.each(TARGETS.filter((_target, at) => isLong || at === program % TARGETS.length))(
    'and its copy for the next program are erased with $target',
    async ({ target, gone, stays }) => {
      const ledger = await open()
      try {
        const next = PROGRAMS[(program + 1) % PROGRAMS.length] ?? to
        const ids = await handedOver(ledger, [to, next])
        for (const id of ids) expect(readable(await logText(ledger, id))).toContain(3)
        const planned = await ledger.admin.erasure.plan(target)
        expect(planned.map(({ conversationId }) => conversationId).toSorted()).toEqual(ids.toSorted())
        expect(planned.find(({ conversationId }) => conversationId === ids[2])?.source?.program).toBe(next)
        await ledger.admin.erasure.run(target, { reason: 'r' })
        for (const id of ids) {
          const numbers = readable(await logText(ledger, id))
          expect(numbers.filter((at) => gone.includes(at))).toEqual([])
          expect(stays.filter((at) => !numbers.includes(at))).toEqual([])
        }
        expect((await ledger.admin.verify()).problems).toEqual([])
      } finally {
        await ledger.close()
      }
    },
  )
})
