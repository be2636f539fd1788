/**
 * Small handwritten transcripts in the format of Claude Code 2.0 to 2.1.2xx, with only the fields that the importer
 * reads. Nothing comes from a real session.
 */
import { plainContentId } from '../../src/application/importers/content-id.js'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import fc from 'fast-check'
import type { MessageBody } from '../../src/domain/values/message.js'
import { parseMessage } from '../../src/domain/values/parse-message.js'
import { claudeCode } from '../../src/application/importers/claude-code.js'
import { userContentOf } from '../../src/application/importers/claude-code-content.js'
import { runsOf } from '../support/length.js'
import type {
  CompactionItem,
  MessageItem,
  TranscriptItem,
  TranscriptReader,
} from '../../src/application/importers/transcript.js'

type Json = Readonly<Record<string, unknown>>

const FILE = '/transcripts/session.jsonl'

const record = (type: string, uuid: string, parentUuid: string | null, more: Json = {}): Json => ({
  type,
  uuid,
  parentUuid,
  sessionId: 's1',
  isSidechain: false,
  userType: 'external',
  cwd: '/project',
  version: '2.1.40',
  timestamp: '2026-01-02T03:04:05.678Z',
  ...more,
})
const user = (uuid: string, parent: string | null, content: unknown, more: Json = {}): Json =>
  record('user', uuid, parent, { message: { role: 'user', content }, ...more })
const answer = (uuid: string, parent: string | null, blocks: unknown, message: Json = {}, more: Json = {}): Json =>
  record('assistant', uuid, parent, {
    message: { id: `msg-${uuid}`, role: 'assistant', model: 'a-model', content: blocks, ...message },
    ...more,
  })
const text = (words: string): Json => ({ type: 'text', text: words })
const call = (id: string, name = 'Bash', input: unknown = { command: id }): Json => ({
  type: 'tool_use',
  id,
  name,
  input,
})
const result = (uuid: string, parent: string, callId: string, content: unknown = `result of ${callId}`): Json =>
  user(uuid, parent, [{ type: 'tool_result', tool_use_id: callId, content }])
const boundary = (uuid: string, logicalParentUuid: string, compactMetadata: Json = { trigger: 'auto' }): Json =>
  record('system', uuid, null, { subtype: 'compact_boundary', logicalParentUuid, compactMetadata })
const summary = (uuid: string, parent: string, content: unknown = 'what was said'): Json =>
  user(uuid, parent, content, { isCompactSummary: true, isVisibleInTranscriptOnly: true })
const attachment = (uuid: string, parent: string, attached: Json, more: Json = {}): Json =>
  record('attachment', uuid, parent, { attachment: attached, ...more })

function takeAll(reader: TranscriptReader, records: readonly unknown[], file = FILE): TranscriptItem[] {
  return records.flatMap((value, index) => [...reader.take({ value, where: { file, line: index + 1 } })])
}
const read = (records: readonly unknown[], file = FILE): TranscriptItem[] =>
  takeAll(claudeCode.read(file, plainContentId), records, file)

const messagesOf = (items: readonly TranscriptItem[]): MessageItem[] =>
  items.filter((item): item is MessageItem => item.kind === 'message')
const compactionsOf = (items: readonly TranscriptItem[]): CompactionItem[] =>
  items.filter((item): item is CompactionItem => item.kind === 'compaction')
/** Items without their locations, and without the first one, which opens the conversation. */
const bareItems = (items: readonly TranscriptItem[]): unknown[] =>
  items.filter(({ kind }) => kind !== 'conversation').map(({ where: _where, ...item }) => item)

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(what)
}

/** The model's context at the end, as computed from the items. Throws if an item is inconsistent. */
function contextAfter(items: readonly TranscriptItem[]): string[] {
  let live: string[] = []
  const compactions: { readonly id: string; readonly before: readonly string[]; readonly left: readonly string[] }[] =
    []
  for (const item of items) {
    if (item.kind === 'message') {
      check(item.part > 0 || !live.includes(item.sourceId), `${item.sourceId} is emitted twice`)
      if (!live.includes(item.sourceId)) live.push(item.sourceId)
    } else if (item.kind === 'withdrawal') {
      for (const id of item.sourceIds) check(live.includes(id), `${id} is withdrawn and was not there`)
      live = live.filter((id) => !item.sourceIds.includes(id))
    } else if (item.kind === 'edit') check(live.includes(item.sourceId), `${item.sourceId} is edited and is not there`)
    else if (item.kind === 'compaction') {
      const left = item.context.map((entry) => (entry.kind === 'inserted' ? `(${item.sourceId})` : entry.sourceId))
      compactions.push({ id: item.sourceId, before: live, left })
      live = [...left]
    } else if (item.kind === 'undo') {
      for (const id of item.sourceIds) {
        const last = compactions.pop()
        check(last?.id === id, `${id} is taken back and is not the last one`)
        const later = live.filter((each) => last?.left.includes(each) !== true)
        live = [...(last?.before ?? []), ...later]
      }
    }
  }
  return live
}

describe('records', () => {
  it('opens the conversation with the data of its first record', () => {
    expect(read([user('u1', null, 'hello')])).toEqual([
      {
        kind: 'conversation',
        sourceId: 's1',
        programVersion: '2.1.40',
        cwd: '/project',
        startedAt: '2026-01-02T03:04:05.678Z',
        where: { file: FILE, line: 1 },
      },
      {
        kind: 'message',
        sourceId: 'u1',
        part: 0,
        at: '2026-01-02T03:04:05.678Z',
        body: { role: 'user', content: 'hello' },
        where: { file: FILE, line: 1 },
      },
    ])
  })

  it('yields each line of an answer as a message of that answer, with the largest reported usage', () => {
    const usage = (output: number): Json => ({
      id: 'm1',
      usage: { input_tokens: 3, cache_read_input_tokens: 40, cache_creation_input_tokens: 5, output_tokens: output },
    })
    const thinking = { type: 'thinking', thinking: 'hm', signature: 'abc=' }
    const [, ...lines] = messagesOf(
      read([
        user('u1', null, 'hello'),
        answer('a1', 'u1', [thinking], usage(2)),
        answer('a2', 'a1', [text('I look.')], usage(90)),
        answer('a3', 'a2', [call('c1')], usage(1)),
      ]),
    )
    expect(lines.map(({ body }) => body)).toEqual([
      { role: 'assistant', content: [thinking] },
      { role: 'assistant', content: 'I look.' },
      {
        role: 'assistant',
        content: null,
        toolCalls: [{ id: 'c1', type: 'function', function: { name: 'Bash', arguments: '{"command":"c1"}' } }],
      },
    ])
    expect(lines).toHaveLength(3)
    expect(lines.map(({ answerId, model }) => [answerId, model])).toEqual(lines.map(() => ['m1', 'a-model']))
    expect(lines.map(({ usage: took }) => took?.outputTokens)).toEqual([2, 90, 90])
    expect(lines[0]?.usage).toEqual({ inputTokens: 48, outputTokens: 2, cacheReadTokens: 40, cacheWriteTokens: 5 })
  })

  it('pairs results with their calls, and marks failed ones', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    const messages = messagesOf(
      read([
        user('u1', null, 'hello'),
        answer('a1', 'u1', [text('I look.'), call('c1'), call('c2')]),
        user('r1', 'a1', [
          { type: 'tool_result', tool_use_id: 'c1', content: [text('it is'), image] },
          { type: 'tool_result', tool_use_id: 'c2', content: 'no such file', is_error: true },
          text('[Request interrupted by user for tool use]'),
        ]),
      ]),
    ).slice(2)
    expect(messages.map(({ sourceId, part, isError }) => [sourceId, part, isError])).toEqual([
      ['r1', 0, undefined],
      ['r1', 1, true],
      ['r1', 2, undefined],
    ])
    expect(messages.map(({ body }) => body)).toEqual([
      { role: 'tool', toolCallId: 'c1', content: [text('it is'), image] },
      { role: 'tool', toolCallId: 'c2', content: 'no such file' },
      { role: 'user', content: '[Request interrupted by user for tool use]' },
    ])
    expect(messages[2]?.byProgram).toBe(true)
  })

  it('splits a search by the provider into a call, its result and the rest of the answer', () => {
    const found = { type: 'web_search_result', url: 'https://example.org', title: 'A page' }
    const [, ...parts] = messagesOf(
      read([
        user('u1', null, 'find it'),
        answer('a1', 'u1', [
          { type: 'server_tool_use', id: 'w1', name: 'web_search', input: { query: 'it' } },
          { type: 'web_search_tool_result', tool_use_id: 'w1', content: [found] },
          text('Here it is.'),
        ]),
      ]),
    )
    expect(parts.map(({ part, body }) => [part, body.role])).toEqual([
      [0, 'assistant'],
      [1, 'tool'],
      [2, 'assistant'],
    ])
    expect(parts[1]?.body).toEqual({ role: 'tool', toolCallId: 'w1', content: [found] })
  })

  it('pairs calls and results without ids by their order', () => {
    const nameless = { type: 'tool_use', name: 'Bash', input: {} }
    const messages = messagesOf(
      read([
        user('u1', null, 'go'),
        answer('a1', 'u1', [nameless, nameless]),
        user('r1', 'a1', [{ type: 'tool_result', content: 'one' }]),
        user('r2', 'a1', [{ type: 'tool_result', content: 'two' }]),
        user('r3', 'a1', [{ type: 'tool_result', content: 'three' }]),
      ]),
    )
    const calls = messages[1]?.body.toolCalls?.map(({ id }) => id) ?? []
    expect(new Set(calls).size).toBe(2)
    expect(messages.slice(2).map(({ body }) => [body.role, body.toolCallId])).toEqual([
      ['tool', calls[0]],
      ['tool', calls[1]],
      ['user', undefined],
    ])
  })

  it.each<[string, Json, boolean]>([
    ['a prompt', user('u', null, 'hello'), false],
    ['a meta record', user('u', null, 'Base directory for this skill', { isMeta: true }), true],
    ['a reminder', user('u', null, '<system-reminder>be brief</system-reminder>'), true],
    ['a reminder in front of a prompt', user('u', null, '<system-reminder>be brief</system-reminder>\nhello'), false],
    [
      'an open file beside a prompt',
      user('u', null, [text('<ide_opened_file>a.ts</ide_opened_file>'), text('hello')]),
      false,
    ],
    ['an open file alone', user('u', null, [text('<ide_opened_file>a.ts</ide_opened_file>')]), true],
    [
      'an image beside a reminder',
      user('u', null, [text('<system-reminder>x</system-reminder>'), { type: 'image' }]),
      false,
    ],
    ['an interruption', user('u', null, [text('[Request interrupted by user]')]), true],
    ['the output of a command', user('u', null, '<local-command-stdout>ok</local-command-stdout>'), true],
    [
      'a command without words',
      user(
        'u',
        null,
        '<command-name>/clear</command-name>\n  <command-message>clear</command-message>\n  <command-args></command-args>',
      ),
      true,
    ],
    [
      'a command with words',
      user('u', null, '<command-name>/loop</command-name>\n<command-args>watch it</command-args>'),
      false,
    ],
    ['a notice of the program', user('u', null, 'done', { promptSource: 'system' }), true],
    ['a message of another agent', user('u', null, 'done', { origin: { kind: 'peer' } }), true],
    ['a message of a person', user('u', null, 'done', { origin: { kind: 'human' } }), false],
    ['an unclosed tag', user('u', null, '<system-reminder> is what I ask about'), false],
  ])('distinguishes the program from the user: %s', (_what, one, byProgram) => {
    expect(messagesOf(read([one]))[0]?.byProgram === true).toBe(byProgram)
  })

  it('marks answers that the program generated as the program’s', () => {
    const message = { model: '<synthetic>', usage: { input_tokens: 0, output_tokens: 0 } }
    expect(bareItems(read([answer('a1', null, [text('No response requested.')], message)]))).toEqual([
      {
        kind: 'message',
        sourceId: 'a1',
        part: 0,
        at: '2026-01-02T03:04:05.678Z',
        byProgram: true,
        body: { role: 'assistant', content: 'No response requested.' },
      },
    ])
  })

  it.each<[string, Json, MessageBody['content'], boolean]>([
    [
      'file',
      { type: 'file', filename: '/p/a.ts', content: { type: 'text', file: { filePath: '/p/a.ts', content: 'let a' } } },
      '/p/a.ts\n\nlet a',
      true,
    ],
    [
      'edited_text_file',
      { type: 'edited_text_file', filename: '/p/a.ts', snippet: '1 let a' },
      '/p/a.ts\n\n1 let a',
      true,
    ],
    [
      'nested_memory',
      { type: 'nested_memory', path: '/p/CLAUDE.md', content: { type: 'Project', content: 'Be kind.' } },
      '/p/CLAUDE.md\n\nBe kind.',
      true,
    ],
    ['skill_listing', { type: 'skill_listing', content: '- commit' }, '- commit', true],
    ['hook_additional_context', { type: 'hook_additional_context', content: ['one', 'two'] }, 'one\ntwo', true],
    ['hook_success', { type: 'hook_success', hookEvent: 'SessionStart', content: 'Hi.' }, 'Hi.', true],
    ['agent_listing_delta', { type: 'agent_listing_delta', addedLines: ['- a', '- b'] }, '- a\n- b', true],
    ['queued_command', { type: 'queued_command', prompt: 'and this', commandMode: 'prompt' }, 'and this', false],
    [
      'queued_command',
      { type: 'queued_command', prompt: '<task-notification>x</task-notification>', commandMode: 'task-notification' },
      '<task-notification>x</task-notification>',
      true,
    ],
  ])('reads the text that an attachment adds to the context: %s', (_type, attached, content, byProgram) => {
    const [, message] = messagesOf(read([user('u1', null, 'go'), attachment('t1', 'u1', attached)]))
    expect(message?.body).toEqual({ role: 'user', content })
    expect(message?.byProgram === true).toBe(byProgram)
  })

  it('prefers the rendered content of an attachment if the program recorded it', () => {
    const withRendered = { rendered: [{ content: 'Your tasks: none.' }] }
    const [, message] = messagesOf(
      read([user('u1', null, 'go'), attachment('t1', 'u1', { type: 'task_reminder', content: [] }, withRendered)]),
    )
    expect(message?.body.content).toBe('Your tasks: none.')
  })

  it('counts records without messages, and unknown records, by name', () => {
    const items = read([
      { type: 'file-history-snapshot', messageId: 'u1', snapshot: {} },
      { type: 'summary', summary: 'An old title', leafUuid: 'x' },
      user('u1', null, 'go'),
      record('progress', 'p1', 'u1', { data: { type: 'hook_progress' } }),
      record('system', 'y1', 'p1', { subtype: 'turn_duration', durationMs: 5 }),
      attachment('t1', 'y1', { type: 'task_reminder', content: [] }),
      attachment('t2', 'y1', { type: 'hook_success', hookEvent: 'Stop', content: 'printed' }),
      { type: 'of-next-year', field: { deep: true } },
    ])
    expect(items.flatMap((item) => (item.kind === 'left-out' ? [item.what] : []))).toEqual([
      'file-history-snapshot',
      'summary',
      'progress',
      'system/turn_duration',
      'attachment/task_reminder',
      'attachment/hook_success',
      'of-next-year',
    ])
    expect(compactionsOf(items)).toEqual([])
  })

  it('reports unreadable records, and reads the others', () => {
    const items = read([42, user('u1', null, 'go'), user('u2', 'u1', undefined), answer('a1', 'u1', [text('yes')])])
    expect(items.flatMap((item) => (item.kind === 'damage' ? [item.where.line] : []))).toEqual([1, 3])
    expect(messagesOf(items).map(({ sourceId }) => sourceId)).toEqual(['u1', 'a1'])
  })
})

describe('the tree', () => {
  it('withdraws messages that are not on the new path after a rewind', () => {
    const items = read([
      user('u1', null, 'one'),
      answer('a1', 'u1', [text('1')]),
      user('u2', 'a1', 'two'),
      answer('a2', 'u2', [text('2')]),
      user('u3', 'a1', 'two, otherwise'),
    ])
    expect(items.filter(({ kind }) => kind === 'withdrawal')).toEqual([
      {
        kind: 'withdrawal',
        sourceIds: ['u2', 'a2'],
        at: '2026-01-02T03:04:05.678Z',
        where: { file: FILE, line: 5 },
      },
    ])
    expect(contextAfter(items)).toEqual(['u1', 'a1', 'u3'])
  })

  it('withdraws everything if the user starts over', () => {
    const items = read([user('u1', null, 'one'), answer('a1', 'u1', [text('1')]), user('u2', null, 'anew')])
    expect(contextAfter(items)).toEqual(['u2'])
  })

  it('withdraws the earlier answer after a retry', () => {
    const items = read([
      user('u1', null, 'one'),
      answer('a1', 'u1', [text('half')]),
      answer('b1', 'u1', [text('whole')]),
    ])
    expect(contextAfter(items)).toEqual(['u1', 'b1'])
  })

  it('emits messages again when the user returns to an abandoned branch', () => {
    const items = read([
      user('u1', null, 'one'),
      answer('a1', 'u1', [text('1')]),
      user('u2', 'a1', 'two'),
      answer('a2', 'u2', [text('2')]),
      user('u3', 'a1', 'two, otherwise'),
      user('u4', 'a2', 'three'),
    ])
    const [before, again] = messagesOf(items).filter(({ sourceId }) => sourceId === 'a2')
    expect(again).toEqual(before)
    expect(contextAfter(items)).toEqual(['u1', 'a1', 'u2', 'a2', 'u4'])
  })

  it('does not treat parallel calls as a rewind, whatever the parents of their results', () => {
    const one = { id: 'm1' }
    const items = read([
      user('u1', null, 'go'),
      answer('a1', 'u1', [text('I look twice.')], one),
      answer('a2', 'a1', [call('c1')], one),
      answer('a3', 'a2', [call('c2')], one),
      result('r2', 'a3', 'c2'),
      result('r1', 'a2', 'c1'),
      user('k1', 'r1', 'The skill says so.', { isMeta: true }),
      answer('b1', 'r2', [text('Both are there.')]),
    ])
    expect(items.some(({ kind }) => kind === 'withdrawal')).toBe(false)
    expect(contextAfter(items)).toEqual(['u1', 'a1', 'a2', 'a3', 'r2', 'r1', 'k1', 'b1'])
  })

  it('keeps the results of all calls after a rewind to one of them', () => {
    const one = { id: 'm1' }
    const items = read([
      user('u1', null, 'go'),
      answer('a1', 'u1', [call('c1')], one),
      answer('a2', 'a1', [call('c2')], one),
      result('r1', 'a1', 'c1'),
      result('r2', 'a2', 'c2'),
      user('u2', 'r2', 'more'),
      user('u3', 'r1', 'other'),
    ])
    expect(contextAfter(items)).toEqual(['u1', 'a1', 'a2', 'r1', 'r2', 'u3'])
  })

  it('adds a late result only to the branch of its call', () => {
    const items = read([
      user('u1', null, 'go'),
      answer('a1', 'u1', [call('c1')]),
      user('u2', null, 'something else'),
      result('r1', 'a1', 'c1'),
      answer('b1', 'u2', [text('yes')]),
    ])
    expect(contextAfter(items)).toEqual(['u2', 'b1'])
    expect(messagesOf(items).map(({ sourceId }) => sourceId)).toContain('r1')
  })

  it('continues if a resumed session begins with records of the program', () => {
    const items = read([
      user('u1', null, 'go'),
      answer('a1', 'u1', [text('1')]),
      record('progress', 'p1', null, { data: { type: 'hook_progress', hookName: 'SessionStart:resume' } }),
      user('u2', 'p1', 'on'),
      user('u3', 'not-in-this-file', 'and on'),
    ])
    expect(contextAfter(items)).toEqual(['u1', 'a1', 'u2', 'u3'])
  })

  it('skips records that the program wrote twice', () => {
    const first = user('u1', null, 'go')
    const second = answer('a1', 'u1', [text('1')])
    const items = read([first, second, first, second, user('u2', 'a1', 'on')])
    expect(contextAfter(items)).toEqual(['u1', 'a1', 'u2'])
    expect(items.flatMap((item) => (item.kind === 'left-out' ? [item.what] : []))).toEqual([
      'repeated user',
      'repeated assistant',
    ])
  })

  it('reports damage if the messages of the restored branch are no longer in memory', () => {
    const items = read([
      user('u1', null, 'one'),
      user('u2', 'u1', 'x'.repeat(1_500_000)),
      user('u3', 'u2', 'three'),
      user('u4', 'u1', 'y'.repeat(1_500_000)),
      user('u5', 'u3', 'back'),
    ])
    expect(items.flatMap((item) => (item.kind === 'damage' ? [item.detail] : []))).toEqual([
      'returns to a branch that was left, and 1 of its messages and compactions lie too far back to be said again',
    ])
    expect(contextAfter(items)).toEqual(['u1', 'u3', 'u5'])
  })
})

describe('compaction', () => {
  const turns = [
    user('u1', null, 'one'),
    answer('a1', 'u1', [text('1')]),
    user('u2', 'a1', 'two'),
    answer('a2', 'u2', [call('c2')]),
    result('r2', 'a2', 'c2'),
  ]

  it('is emitted with its summary, and covers everything that the program does not name', () => {
    const metadata = { trigger: 'manual', preTokens: 900, postTokens: 40, durationMs: 12 }
    const items = read([...turns, boundary('k1', 'r2', metadata), summary('s1', 'k1'), user('u3', 's1', 'on')])
    expect(compactionsOf(items)).toEqual([
      {
        kind: 'compaction',
        sourceId: 'k1',
        at: '2026-01-02T03:04:05.678Z',
        trigger: 'manual',
        summary: { kind: 'text', text: 'what was said' },
        context: [{ kind: 'inserted', body: { role: 'user', content: 'what was said' }, isSummary: true }],
        tokensBefore: 900,
        tokensAfter: 40,
        durationMs: 12,
        where: { file: FILE, line: 6 },
      },
    ])
    expect(contextAfter(items)).toEqual(['(k1)', 'u3'])
  })

  it('reads a summary of several blocks unchanged', () => {
    const blocks = [text('first'), text('second')]
    const [compaction] = compactionsOf(read([...turns, boundary('k1', 'r2'), summary('s1', 'k1', blocks)]))
    expect(compaction?.summary).toEqual({ kind: 'text', text: 'first\nsecond' })
    expect(compaction?.context).toEqual([
      { kind: 'inserted', body: { role: 'user', content: blocks }, isSummary: true },
    ])
  })

  it('retains the messages that the program names, after or before the summary', () => {
    const preserved = (anchorUuid: string): Json => ({
      trigger: 'auto',
      preservedSegment: { headUuid: 'u1', anchorUuid, tailUuid: 'u1' },
      preservedMessages: { anchorUuid, uuids: ['a2', 'r2'], allUuids: ['a2', 'r2'] },
    })
    const context = (anchor: string): string[] =>
      contextAfter(read([...turns, boundary('k1', 'r2', preserved(anchor)), summary('s1', 'k1')]))
    expect(context('s1')).toEqual(['(k1)', 'a2', 'r2'])
    expect(context('k1')).toEqual(['a2', 'r2', '(k1)'])
  })

  it('continues after the retained messages, whichever record of the compaction is the next parent', () => {
    const retained = { preservedMessages: { anchorUuid: 's1', uuids: ['a2', 'r2'] } }
    for (const parent of ['s1', 'k1', 'r2', 'p1']) {
      const items = read([
        ...turns,
        boundary('k1', 'r2', retained),
        record('progress', 'p1', 'k1'),
        summary('s1', 'k1'),
        user('u3', parent, 'on'),
      ])
      expect(contextAfter(items)).toEqual(['(k1)', 'a2', 'r2', 'u3'])
    }
  })

  it('retains a segment, from its first record to its last', () => {
    const segment = (headUuid: string, tailUuid: string): CompactionItem | undefined =>
      compactionsOf(
        read([
          ...turns,
          record('system', 'y1', 'r2', { subtype: 'turn_duration' }),
          boundary('k1', 'y1', { preservedSegment: { headUuid, anchorUuid: 's1', tailUuid } }),
          summary('s1', 'k1'),
        ]),
      )[0]
    const keptIn = (compaction: CompactionItem | undefined): unknown[] =>
      (compaction?.context ?? [])
        .slice(1)
        .map((entry) => (entry.kind === 'inserted' ? '' : [entry.kind, entry.sourceId]))
    expect(keptIn(segment('a2', 'r2'))).toEqual([
      ['message', 'a2'],
      ['message', 'r2'],
    ])
    expect(keptIn(segment('a2', 'y1'))).toEqual([
      ['message', 'a2'],
      ['message', 'r2'],
    ])
    expect(keptIn(segment('gone', 'u2'))).toEqual([
      ['missing', 'gone'],
      ['message', 'u1'],
      ['message', 'a1'],
      ['message', 'u2'],
    ])
    expect(segment('gone', 'gone too')?.unknown).toEqual(['u1', 'a1', 'u2', 'a2', 'r2'])
  })

  it('has unknown messages if only one of the program’s two lists names them', () => {
    const lists = { preservedMessages: { anchorUuid: 's1', uuids: ['r2'], allUuids: ['a2', 'r2'] } }
    const [compaction] = compactionsOf(read([...turns, boundary('k1', 'r2', lists), summary('s1', 'k1')]))
    expect(compaction?.unknown).toEqual(['a2'])
  })

  it('names retained messages that are missing in a file that begins in the middle', () => {
    const retained = { preservedMessages: { anchorUuid: 's1', uuids: ['x1', 'x2'] } }
    const items = read([
      boundary('k1', 'x2', retained),
      summary('s1', 'k1'),
      user('u1', 's1', 'on'),
      boundary('k2', 'u1'),
      summary('s2', 'k2'),
    ])
    const [first, second] = compactionsOf(items)
    expect(first?.context.slice(1)).toEqual([
      { kind: 'missing', sourceId: 'x1' },
      { kind: 'missing', sourceId: 'x2' },
    ])
    expect([first?.coversMissing, second?.coversMissing]).toEqual([true, true])
    expect(items[0]).not.toHaveProperty('startedAt')
  })

  it('retains an earlier summary that a later compaction names', () => {
    const retained = { preservedMessages: { anchorUuid: 's2', uuids: ['s1', 'u3'] } }
    const items = read([
      ...turns,
      boundary('k1', 'r2', { preservedMessages: { anchorUuid: 'k1', uuids: ['r2'] } }),
      summary('s1', 'k1', 'the first'),
      user('u3', 's1', 'on'),
      boundary('k2', 'u3', retained),
      summary('s2', 'k2', 'the second'),
    ])
    expect(compactionsOf(items)[1]?.context).toEqual([
      { kind: 'inserted', body: { role: 'user', content: 'the second' }, isSummary: true },
      { kind: 'inserted', body: { role: 'user', content: 'the first' }, isSummary: true },
      { kind: 'message', sourceId: 'u3' },
    ])
    expect(compactionsOf(items)[1]?.coversMissing).toBeUndefined()
  })

  it('is undone by a rewind to before it', () => {
    const items = read([
      ...turns,
      boundary('k1', 'r2'),
      summary('s1', 'k1'),
      user('u3', 's1', 'on'),
      boundary('k2', 'u3'),
      summary('s2', 'k2'),
      user('u4', 's2', 'and on'),
      user('u5', 'a1', 'two, otherwise'),
    ])
    expect(items.slice(-3).map(({ where: _where, ...item }) => item)).toEqual([
      { kind: 'undo', sourceIds: ['k2', 'k1'], at: '2026-01-02T03:04:05.678Z' },
      { kind: 'withdrawal', sourceIds: ['u2', 'a2', 'r2', 'u3', 'u4'], at: '2026-01-02T03:04:05.678Z' },
      expect.objectContaining({ kind: 'message', sourceId: 'u5' }),
    ])
    expect(contextAfter(items)).toEqual(['u1', 'a1', 'u5'])
  })

  it('is emitted again when the user returns to after it', () => {
    const items = read([
      ...turns,
      boundary('k1', 'r2'),
      summary('s1', 'k1'),
      user('u3', 's1', 'on'),
      user('u4', 'a1', 'two, otherwise'),
      user('u5', 'u3', 'and on'),
    ])
    const [first, again] = compactionsOf(items)
    expect(again).toEqual(first)
    expect(contextAfter(items)).toEqual(['(k1)', 'u3', 'u5'])
  })

  it('has no summary if another message follows, and waits for one at the end of a file', () => {
    const records = [...turns, boundary('k1', 'r2')]
    const reader = claudeCode.read(FILE, plainContentId)
    expect(compactionsOf(takeAll(reader, records))).toEqual([])
    expect([...reader.end()]).toEqual([
      { kind: 'left-out', what: 'system/compact_boundary', where: { file: FILE, line: 6 } },
    ])
    const items = read([...records, user('u3', 'k1', 'on')])
    expect(compactionsOf(items)[0]?.summary).toEqual({ kind: 'opaque' })
    expect(contextAfter(items)).toEqual(['u3'])
  })

  /** Records that the program writes between the boundary of a compaction and its summary. */
  const between = fc.array(
    fc.constantFrom<(uuid: string, parent: string) => Json>(
      (uuid, parent) =>
        attachment(
          uuid,
          parent,
          { type: 'session_context' },
          { rendered: [{ content: `<system-reminder>\n${uuid}\n</system-reminder>` }], renderedRole: 'user' },
        ),
      (uuid, parent) =>
        attachment(
          uuid,
          parent,
          { type: 'date' },
          { rendered: [{ content: `<system-reminder>\n${uuid}\n</system-reminder>` }], renderedRole: 'system' },
        ),
      (uuid, parent) => attachment(uuid, parent, { type: 'prompt_snapshot' }),
      (uuid, parent) => record('progress', uuid, parent),
      (uuid, parent) => record('system', uuid, parent, { subtype: 'informational' }),
      (uuid, parent) => user(uuid, parent, `<command-name>${uuid}</command-name>`),
      (uuid, parent) => user(uuid, parent, uuid, { isMeta: true }),
    ),
    { maxLength: 6 },
  )

  it('is one, dated once, from its boundary to its summary, whatever the program writes between them', () => {
    fc.assert(
      fc.property(between, fc.boolean(), fc.constantFrom('s1', 'k1', undefined), (makers, isNamed, anchorUuid) => {
        const notes = makers.map((make, at) => make(`n${String(at)}`, at === 0 ? 'k1' : `n${String(at - 1)}`))
        const lastNote = notes.length === 0 ? 'k1' : `n${String(notes.length - 1)}`
        const preservedMessages = { anchorUuid, uuids: ['a2', 'r2'], allUuids: ['a2', 'r2'] }
        const metadata = isNamed ? { trigger: 'auto', preservedMessages } : { trigger: 'auto' }
        const items = read([
          ...turns,
          boundary('k1', 'r2', metadata),
          ...notes,
          summary('s1', lastNote),
          user('u3', 's1', 'on'),
        ])
        const compactions = compactionsOf(items)
        expect(compactions.map(({ sourceId, at, summary: found }) => [sourceId, at, found])).toEqual([
          ['k1', '2026-01-02T03:04:05.678Z', { kind: 'text', text: 'what was said' }],
        ])
        const ids = new Set(messagesOf(items).map(({ sourceId }) => sourceId))
        const noteIds = notes.map(({ uuid }) => String(uuid)).filter((id) => ids.has(id))
        const preserved = isNamed ? ['a2', 'r2'] : []
        const isFirst = isNamed && anchorUuid === 'k1'
        const expected = isFirst ? [...preserved, ...noteIds, '(k1)', 'u3'] : [...noteIds, '(k1)', ...preserved, 'u3']
        expect(contextAfter(items)).toEqual(expected)
      }),
      { numRuns: runsOf(300) },
    )
  })

  it('takes a summary that is written after the model’s next answer as a text of the program', () => {
    const metadata = { trigger: 'auto', preservedMessages: { anchorUuid: 's1', uuids: [], allUuids: [] } }
    const items = read([
      ...turns,
      boundary('k1', 'r2', metadata),
      answer('a9', 'k1', [text('on')]),
      summary('s1', 'a9'),
    ])
    expect(compactionsOf(items).map(({ sourceId, summary: found }) => [sourceId, found.kind])).toEqual([
      ['k1', 'opaque'],
    ])
    expect(messagesOf(items).at(-1)).toMatchObject({ sourceId: 's1', byProgram: true })
  })

  it('has a note with the role in which the program sent it, without its tag', () => {
    const rendered = [{ content: '<system-reminder>\nIt is Monday.\n</system-reminder>' }]
    const [, asSystem, asUser] = messagesOf(
      read([
        user('u1', null, 'one'),
        attachment('n1', 'u1', { type: 'date' }, { rendered, renderedRole: 'system' }),
        attachment('n2', 'n1', { type: 'date' }, { rendered, renderedRole: 'user' }),
      ]),
    )
    expect(asSystem).toMatchObject({ body: { role: 'system', content: 'It is Monday.' }, byProgram: true })
    expect(asUser).toMatchObject({ body: { role: 'user', content: rendered[0]?.content }, byProgram: true })
  })

  it('replaces cleared results, and replaces them again when they are emitted again', () => {
    const micro = record('system', 'y1', 'r2', {
      subtype: 'microcompact_boundary',
      microcompactMetadata: {
        trigger: 'auto',
        compactedToolIds: ['c2', 'not-in-this-file'],
        clearedAttachmentUUIDs: ['t1'],
      },
    })
    const head = [
      ...turns.slice(0, 2),
      attachment('t1', 'a1', { type: 'skill_listing', content: '- a' }),
      user('u2', 't1', 'two'),
      ...turns.slice(3),
    ]
    const edits = (items: readonly TranscriptItem[]): unknown[] =>
      items.flatMap((item) => (item.kind === 'edit' ? [[item.sourceId, item.part, item.content, item.why]] : []))
    const cleared = [
      'r2',
      0,
      '[cleared by the program; its transcript does not say what stands in its place]',
      'pruned',
    ]
    const items = read([...head, micro, user('u3', 'y1', 'on')])
    expect(edits(items)).toEqual([cleared, ['t1', 0, null, 'pruned']])
    expect(contextAfter(items)).toEqual(['u1', 'a1', 't1', 'u2', 'a2', 'r2', 'u3'])
    const back = read([...head, micro, user('u3', 't1', 'otherwise'), user('u4', 'r2', 'back')])
    expect(edits(back).slice(2)).toEqual([cleared])
  })
})

describe('several conversations', () => {
  it('yields a sub-agent’s file as a conversation that its session started', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'claude-code-'))
    const agents = join(folder, 'subagents')
    await mkdir(agents)
    const path = join(agents, 'agent-7.jsonl')
    const records = [user('u1', null, 'search', { isSidechain: true, agentId: '7' })]
    const opening = (): TranscriptItem | undefined => read(records, path)[0]
    expect(opening()).toMatchObject({ sourceId: 's1/agent-7', parent: { sourceId: 's1', how: 'sub-agent' } })
    await writeFile(
      join(agents, 'agent-7.meta.json'),
      JSON.stringify({ toolUseId: 'c1', description: 'A search', parentAgentId: '6' }),
    )
    expect(opening()).toMatchObject({
      sourceId: 's1/agent-7',
      title: 'A search',
      parent: { sourceId: 's1/agent-6', how: 'sub-agent', callId: 'c1' },
    })
    await rm(folder, { recursive: true })
  })

  it('takes the parent from the directory if the records do not contain it', () => {
    const records = [
      record('user', 'u1', null, { sessionId: 'agent-7', isSidechain: true, message: { content: 'go' } }),
    ]
    expect(read(records, '/p/s9/subagents/agent-7.jsonl')[0]).toMatchObject({
      sourceId: 's9/agent-7',
      parent: { sourceId: 's9', how: 'sub-agent' },
    })
  })

  it('separates sub-agents whose lines are between those of their session', () => {
    const side = { isSidechain: true }
    const items = read([
      user('u1', null, 'go'),
      answer('a1', 'u1', [call('c1', 'Task', { prompt: 'look left' }), call('c2', 'Task', { prompt: 'look right' })]),
      user('x1', null, 'look right', side),
      user('y1', null, 'look left', side),
      answer('x2', 'x1', [text('nothing')], {}, side),
      answer('y2', 'y1', [text('a tree')], {}, side),
      result('r1', 'a1', 'c1'),
    ])
    const openings = items.flatMap((item) =>
      item.kind === 'conversation' ? [[item.sourceId, item.parent?.callId]] : [],
    )
    expect(openings).toEqual([
      ['s1', undefined],
      ['s1/agent-x1', 'c2'],
      ['s1/agent-y1', 'c1'],
      ['s1/agent-x1', 'c2'],
      ['s1/agent-y1', 'c1'],
      ['s1', undefined],
    ])
    expect(items.some(({ kind }) => kind === 'withdrawal')).toBe(false)
  })

  it('recognizes a fork by the copied records', () => {
    const fork = { forkedFrom: { sessionId: 's0', messageUuid: 'u1' } }
    expect(read([user('u1', null, 'go', fork)])[0]).toMatchObject({
      sourceId: 's1',
      parent: { sourceId: 's0', how: 'fork' },
    })
    const named = '0f0e0d0c-0b0a-4908-8706-050403020100'
    expect(read([user('u1', null, 'go')], `/p/${named}.jsonl`)[0]).toMatchObject({
      sourceId: named,
      parent: { sourceId: 's1', how: 'fork' },
    })
  })
})

describe('recognition', () => {
  const head = (...records: readonly unknown[]): { path: string; records: readonly unknown[]; text: string } => ({
    path: FILE,
    records,
    text: '',
  })
  it.each<[string, Json, 'lines' | undefined]>([
    ['a message', user('u1', null, 'go'), 'lines'],
    ['a snapshot of files', { type: 'file-history-snapshot', messageId: 'm', snapshot: {} }, 'lines'],
    ['an old title', { type: 'summary', summary: 'A title', leafUuid: 'x' }, 'lines'],
    [
      'a message of a kin program',
      { type: 'user', uuid: 'u', sessionId: 's', message: { role: 'user', parts: [] } },
      undefined,
    ],
    ['a line of another program', { type: 'message', id: '1', message: { role: 'user', content: 'go' } }, undefined],
  ])('decides by content: %s', (_what, one, layout) => {
    expect(claudeCode.recognize(head({ unrelated: true }, one))).toBe(layout)
  })

  it('finds the directory from the program’s environment variable', () => {
    expect(claudeCode.homes({}, '/home/a')[0]).toBe('/home/a/.claude/projects')
    expect(claudeCode.homes({ CLAUDE_CONFIG_DIR: '/c' }, '/home/a')).toEqual(['/c/projects'])
  })
})

/** A random conversation: turns of several records, rewinds to any turn, compactions. */
interface Turn {
  readonly records: readonly Json[]
  /** Its records in the context, in order. */
  readonly ids: readonly string[]
  readonly before: Turn | undefined
  /** The entries of the previous context that a compaction retained; undefined for other turns. */
  readonly retained?: readonly string[]
}

const contextOf = (turn: Turn | undefined): readonly string[] => {
  if (turn === undefined) return []
  return turn.retained === undefined
    ? [...contextOf(turn.before), ...turn.ids]
    : [`(${turn.ids[0] ?? ''})`, ...turn.retained]
}
const lastOf = (turn: Turn | undefined): string | null => {
  const id = turn?.records.at(-1)?.['uuid']
  return typeof id === 'string' ? id : null
}

function chat(name: string, before: Turn | undefined, calls: number): Turn {
  const message = { id: `m-${name}` }
  const ids = [`${name}-u`]
  const records = [user(`${name}-u`, lastOf(before), name)]
  const callIds = Array.from({ length: calls }, (_none, index) => `${name}-a${String(index)}`)
  for (const [index, id] of callIds.entries()) {
    records.push(answer(id, ids.at(-1) ?? null, [call(`${name}-c${String(index)}`)], message))
    ids.push(id)
  }
  for (const [index, id] of callIds.entries()) {
    records.push(result(`${name}-r${String(index)}`, id, `${name}-c${String(index)}`))
    ids.push(`${name}-r${String(index)}`)
  }
  records.push(answer(`${name}-z`, ids.at(-1) ?? null, [text('done')]), record('progress', `${name}-p`, `${name}-z`))
  return { records, ids: [...ids, `${name}-z`], before }
}

function compactionTurn(name: string, before: Turn, keep: number): Turn {
  const retained =
    keep === 0
      ? []
      : contextOf(before)
          .slice(-keep)
          .filter((id) => !id.startsWith('('))
  const preserved = { preservedMessages: { anchorUuid: `${name}-s`, uuids: retained } }
  return {
    records: [boundary(name, lastOf(before) ?? '', preserved), summary(`${name}-s`, name)],
    ids: [name],
    before,
    retained,
  }
}

const storyArbitrary = fc
  .array(
    fc.record({
      to: fc.double({ min: 0, max: 1, noNaN: true }),
      isBack: fc.boolean(),
      calls: fc.nat({ max: 2 }),
      keep: fc.option(fc.nat({ max: 4 })),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((moves) => {
    const turns: Turn[] = []
    for (const [index, { to, isBack, calls, keep }] of moves.entries()) {
      const here = turns.at(-1)
      const from = isBack && keep === null ? turns[Math.floor(to * turns.length) - 1] : here
      const name = `t${String(index)}`
      turns.push(keep !== null && here !== undefined ? compactionTurn(name, here, keep) : chat(name, from, calls))
    }
    return turns
  })

describe('rules for any conversation', () => {
  it('the context is the path to the last record, after its last compaction', () => {
    fc.assert(
      fc.property(storyArbitrary, (turns) => {
        const items = read(turns.flatMap(({ records }) => records))
        expect(contextAfter(items)).toEqual(contextOf(turns.at(-1)))
        expect(items.some(({ kind }) => kind === 'damage')).toBe(false)
      }),
      { numRuns: 300 },
    )
  })

  it('a truncated file yields the first items of the whole file', () => {
    fc.assert(
      fc.property(storyArbitrary, fc.double({ min: 0, max: 1, noNaN: true }), (turns, part) => {
        const records = turns.flatMap((turn) => turn.records)
        const half = read(records.slice(0, Math.floor(part * records.length)))
        expect(read(records).slice(0, half.length)).toEqual(half)
      }),
      { numRuns: 100 },
    )
  })

  it('every message is valid for a ledger, whatever the file contains', () => {
    const ids = fc.constantFrom('a', 'b', 'c', '', null)
    const block = fc.oneof(
      fc.record(
        {
          type: fc.constantFrom(
            'text',
            'tool_use',
            'tool_result',
            'web_search_tool_result',
            'input_text',
            'image',
            'x',
          ),
          id: ids,
          tool_use_id: ids,
          text: fc.oneof(fc.string(), fc.integer()),
          name: ids,
          input: fc.jsonValue(),
          content: fc.jsonValue(),
        },
        { requiredKeys: [] },
      ),
      fc.jsonValue(),
    )
    const content = fc.oneof(fc.string(), fc.array(block), fc.jsonValue())
    const any = fc.record(
      {
        type: fc.constantFrom('user', 'assistant', 'attachment', 'system'),
        uuid: ids,
        parentUuid: ids,
        subtype: fc.constantFrom('compact_boundary', 'microcompact_boundary', 'x'),
        isCompactSummary: fc.boolean(),
        isSidechain: fc.boolean(),
        message: fc.record({ id: ids, content }),
        attachment: fc.record({
          type: fc.constantFrom('file', 'queued_command', 'skill_listing'),
          prompt: content,
          content,
        }),
        compactMetadata: fc.jsonValue(),
        rendered: fc.jsonValue(),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(any, fc.jsonValue()), { maxLength: 12 }), (records) => {
        for (const { body } of messagesOf(read(records))) {
          const { role, content: words, toolCalls, toolCallId, name, extra } = body
          const parsed = parseMessage({
            role,
            content: words,
            ...(toolCalls === undefined ? {} : { tool_calls: toolCalls }),
            ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
            ...(name === undefined ? {} : { name }),
            ...extra,
          })
          expect(E.isRight(parsed)).toBe(true)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('a text with the user’s words after the program’s is the user’s', () => {
    const userText = fc.string({ minLength: 1 }).filter((words) => words.trim() !== '' && !words.includes('<'))
    fc.assert(
      fc.property(userText, fc.nat({ max: 3 }), (words, times) => {
        const front = '<system-reminder>be brief</system-reminder>\n'.repeat(times)
        expect(userContentOf(front + words)?.isByProgram).toBe(false)
        expect(userContentOf(front)?.isByProgram).toBe(times > 0)
      }),
    )
  })
})

describe('the title of a session', () => {
  const titlesIn = (records: readonly unknown[]): unknown[] =>
    read(records).flatMap((item) => (item.kind === 'conversation' ? [item.title] : []))
  const custom = (customTitle: string): Json => ({ type: 'custom-title', customTitle, sessionId: 's1' })
  const ai = (aiTitle: string): Json => ({ type: 'ai-title', aiTitle, sessionId: 's1' })
  const summarized = (words: string, leafUuid: string): Json => ({ type: 'summary', summary: words, leafUuid })
  const hello = user('u1', null, 'hello')

  it.each<readonly [string, readonly Json[], readonly unknown[]]>([
    ['none', [hello], [undefined]],
    ['before the first message', [custom('A'), hello], ['A']],
    ['changed later', [custom('A'), hello, custom('B'), custom('B')], ['A', 'B']],
    ['of the user before one of the program', [hello, ai('A'), custom('B'), ai('C')], [undefined, 'A', 'B']],
    ['in a summary of this session', [hello, summarized('A', 'u1')], [undefined, 'A']],
    ['in a summary of another session', [summarized('A', 'x'), hello, summarized('B', 'y')], [undefined]],
  ])('%s', (_name, records, titles) => {
    expect(titlesIn(records)).toEqual(titles)
  })
})
