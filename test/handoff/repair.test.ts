/** Damaged sessions of three programs, repaired: the program's format, and the context that was there before. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { contentText } from '../../src/domain/values/message.js'
import { openLedger, type Handoff, type Ledger } from '../../src/index.js'
import { COMPACTED_SESSIONS } from '../support/compacted-sessions.js'
import { DAMAGES, FORMS } from '../support/ten-damages.js'
import { sessionFormats } from '../support/session-formats.js'
import { strictChat } from '../support/strict-chat.js'

let home: string

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'context-ledger-'))
})
afterAll(async () => {
  await rm(home, { recursive: true, force: true })
})

/** A damaged session that was imported and repaired. */
interface Repaired {
  readonly handoff: Handoff
  readonly damaged: string
  readonly damagedAfter: string
  readonly written: string
  readonly before: readonly string[]
  readonly after: readonly string[]
  readonly problems: readonly string[]
}

/** Texts instead of a result that is missing, or of one that no call waits for. */
const OPEN = /^\[(?:no result of this call has been recorded so far|Interrupted: the session ended [^\]]*)\]$/u
const STRAY = /^\[(?:late result of|Handed over: (?:the output of a tool|a further result))[^\]]*\]\s*/u
const NO_FILE = /\s*\[\w+(?:: not handed over)?\]/gu

/** The messages of a context; results name their call by its number. */
async function contextOf(ledger: Ledger, id: string) {
  const { messages } = await ledger.context(id)
  const calls: string[] = []
  const lines = messages.flatMap((message): string[] => {
    const text = contentText(message.content ?? '').trim()
    if (message.role === 'tool')
      return [`result ${String(calls.indexOf(message.tool_call_id ?? ''))}: ${text.replace(OPEN, 'none')}`]
    const made = message.role === 'assistant' ? (message.tool_calls ?? []) : []
    calls.push(...made.map((call) => call.id))
    return [
      `${message.role}: ${text.replace(STRAY, 'stray: ').replaceAll(NO_FILE, '')} ${made.map((call) => JSON.stringify({ ...call, id: calls.indexOf(call.id) })).join(' ')}`.trim(),
    ]
  })
  return { lines, problems: strictChat({ messages }) }
}

async function repaired(program: string, damage: string): Promise<Repaired> {
  const form = FORMS[program]
  const text = form === undefined ? undefined : DAMAGES[damage]?.(form)
  if (form === undefined || text === undefined) throw new Error(`no session of ${program} with ${damage}`)
  const folder = await mkdtemp(join(home, `${program}-`))
  const path = join(folder, form.file)
  await mkdir(join(folder, 'home'))
  await writeFile(path, text)
  const ledger = await openLedger({ store: 'memory' })
  try {
    await ledger.transcripts.import(path)
    const id = `${program}/${form.sessionId}`
    const handoff = await ledger.transcripts.handoff(id, {
      to: 'same',
      repair: true,
      home: join(folder, 'home'),
      cwd: '/srv/hold',
    })
    const before = await contextOf(ledger, id)
    const after = await contextOf(ledger, handoff.conversationId)
    const written = await readFile(handoff.file, 'utf8')
    return {
      handoff,
      damaged: text,
      damagedAfter: await readFile(path, 'utf8'),
      written,
      before: before.lines,
      after: after.lines,
      problems: [...(sessionFormats[program]?.(written) ?? ['no checker']), ...after.problems],
    }
  } finally {
    await ledger.close()
  }
}

const NOTHING = {
  openCalls: 0,
  resultsWithoutCall: 0,
  repeatedResults: 0,
  furtherResults: 0,
  incompleteArguments: 0,
  missingSummaries: 0,
  unreadableRecords: 0,
}

const LOST_SUMMARY = 'a compaction without its summary'

/** The numbers that the repair of a damage reports, apart from zeros. */
const FOUND: Readonly<Record<string, object>> = {
  'an end in the middle of a call': { openCalls: 1 },
  'a result without its call': { resultsWithoutCall: 1 },
  'two results of one call': { furtherResults: 1 },
  'a line that is no JSON': { unreadableRecords: 1 },
  'a line of NUL': { unreadableRecords: 1 },
  [LOST_SUMMARY]: { missingSummaries: 1 },
}

/** Damages after which the last request is not in the file. */
const LOST_END: ReadonlySet<string> = new Set(['a last line that is cut', 'an end in the middle of a call'])

describe.each(Object.keys(FORMS))('a damaged session of %s', (program) => {
  it.each(Object.keys(DAMAGES))('with %s is written again with its context', async (damage) => {
    const { handoff, problems, before, after, damaged, damagedAfter } = await repaired(program, damage)
    expect(problems).toEqual([])
    expect(before.join('\n')).toContain('What is on the quay?')
    expect(before.join('\n').includes('Load them.')).toBe(!LOST_END.has(damage))
    expect(damagedAfter).toBe(damaged)
    expect(handoff).toMatchObject({ program, repaired: { ...NOTHING, ...FOUND[damage] } })
    // A note replaces a summary that is missing.
    const [first = '', ...rest] = after
    expect(first.includes('This session continues ')).toBe(damage === LOST_SUMMARY)
    expect(damage === LOST_SUMMARY ? rest : after).toEqual(before)
  })
})

describe('a repair', () => {
  it('of a compacted session of opencode has one request for a summary, as before', async () => {
    const { file = '', after = '' } = COMPACTED_SESSIONS['opencode']?.('ses_hold', '2026-03-10T08:00:00.000Z') ?? {}
    const folder = await mkdtemp(join(home, 'opencode-'))
    await writeFile(join(folder, file), after)
    const ledger = await openLedger({ store: 'memory' })
    try {
      await ledger.transcripts.import(join(folder, file))
      const options = { to: 'same', repair: true, home: folder, cwd: '/srv/hold' }
      const { conversationId } = await ledger.transcripts.handoff('opencode/ses_hold', options)
      const before = await contextOf(ledger, 'opencode/ses_hold')
      expect(before.lines.join()).toContain('What did we do so far?')
      expect(await contextOf(ledger, conversationId)).toEqual(before)
    } finally {
      await ledger.close()
    }
  })

  /** The repaired session of a rollout of Codex with these items. */
  async function ofItems(...items: readonly object[]) {
    const id = '5c1f6d1e-3b0a-4a3c-9f6e-0d6c1b2a7e24'
    const folder = await mkdtemp(join(home, 'codex-'))
    const path = join(folder, `rollout-2026-03-10T08-00-10-${id}.jsonl`)
    const record = (type: string, payload: object, at: number): string =>
      `${JSON.stringify({ timestamp: `2026-03-10T08:00:${String(at + 10)}.000Z`, type, payload })}\n`
    const head = { id, timestamp: '2026-03-10T08:00:09.000Z', cwd: '/srv/hold', source: 'cli' }
    const begin = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'What is in the hold?' }] }
    await writeFile(
      path,
      [record('session_meta', head, 0), ...[begin, ...items].map((item, at) => record('response_item', item, at))].join(
        '',
      ),
    )
    const ledger = await openLedger({ store: 'memory' })
    try {
      await ledger.transcripts.import(path)
      const {
        file,
        repaired: found,
        notHandedOver,
      } = await ledger.transcripts.handoff(`codex/${id}`, {
        repair: true,
        home: folder,
        cwd: '/srv/hold',
      })
      const written = await readFile(file, 'utf8')
      expect(sessionFormats['codex']?.(written)).toEqual([])
      return { found, written, notHandedOver }
    } finally {
      await ledger.close()
    }
  }
  const call = (values: string): object => ({
    type: 'function_call',
    name: 'exec_command',
    arguments: values,
    call_id: 'call_1',
  })
  const output = (text: string): object => ({ type: 'function_call_output', call_id: 'call_1', output: text })

  it('closes a call with arguments that were cut off, and has their text', async () => {
    const { found, written, notHandedOver } = await ofItems(call('{"cmd": "rm -r ho'))
    expect(found).toEqual({ ...NOTHING, openCalls: 1, incompleteArguments: 1 })
    expect(notHandedOver).toEqual([])
    expect(written).toContain('[Interrupted: the session ended before this call had a result.]')
    expect(written).toContain('rm -r ho')
  })

  it('leaves out a result that is there twice, and keeps one that says something else', async () => {
    const { found, written } = await ofItems(call('{}'), output('one'), output('one'), output('two'))
    expect(found).toEqual({ ...NOTHING, repeatedResults: 1, furtherResults: 1 })
    expect(written.match(/"output":"one"/gu)).toHaveLength(1)
    expect(written).toContain('two')
  })

  it('keeps texts of the program in the role of the user', async () => {
    const text = '<environment_context>\n  <cwd>/srv/hold</cwd>\n</environment_context>'
    const { found, written } = await ofItems({
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text }],
    })
    expect(found).toEqual(NOTHING)
    expect(written).toContain('<cwd>/srv/hold</cwd>')
  })
})
