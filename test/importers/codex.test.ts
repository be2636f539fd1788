/** Handwritten rollouts of Codex CLI, in the formats of versions 0.2x to 0.14x. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { Transform } from 'node:stream'
import { z } from 'zod'
import { codex } from '../../src/application/importers/codex.js'
import { rolloutRecords } from '../../src/application/importers/codex-compressed.js'
import { headOf, recordsOf } from '../../src/application/importers/records-of.js'
import type { TranscriptItem, TranscriptRecord } from '../../src/application/importers/transcript.js'
import { describeWithTranscripts, transcriptsFolder } from '../support/real-transcripts.js'
import { itemsOf, lawfulItems, linesOf, ofKind } from '../support/transcript-laws.js'

const ID = '01990000-0000-7000-8000-00000000000a'
const FILE = `/home/ada/.codex/sessions/2026/03/10/rollout-2026-03-10T08-00-00-${ID}.jsonl`

const tokensSchema = z.object({ input_tokens: z.number(), output_tokens: z.number() })
const countsSchema = z.object({ total_token_usage: tokensSchema, last_token_usage: tokensSchema })

let second = 0
const line = (type: string, payload: object): object => {
  second = (second + 1) % 60
  return { timestamp: `2026-03-10T08:00:${String(second).padStart(2, '0')}.000Z`, type, payload }
}
const meta = (more: object = {}): object =>
  line('session_meta', {
    id: ID,
    timestamp: '2026-03-10T07:59:59.000Z',
    cwd: '/srv/berths',
    cli_version: '0.142.0',
    source: 'cli',
    ...more,
  })
const item = (payload: object): object => line('response_item', payload)
const event = (type: string, more: object = {}): object => line('event_msg', { type, ...more })
const model = (name: string): object => line('turn_context', { cwd: '/srv/berths', model: name })
const userItem = (text: string, more: object = {}): object => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text }],
  ...more,
})
const answerItem = (text: string): object => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text }],
})
const user = (text: string, more: object = {}): object => item(userItem(text, more))
const answer = (text: string): object => item(answerItem(text))
const reasoning = (text: string): object =>
  item({ type: 'reasoning', id: `rs_${text}`, summary: [{ type: 'summary_text', text }], encrypted_content: 'x9' })
const call = (id: string, args = '{"cmd":"ls"}'): object =>
  item({ type: 'function_call', name: 'exec_command', arguments: args, call_id: id })
const output = (id: string, text: unknown): object => item({ type: 'function_call_output', call_id: id, output: text })
const environment = '<environment_context>\n  <cwd>/srv/berths</cwd>\n</environment_context>'
const compacted = (payload: object): object => line('compacted', { message: '', ...payload })
const tokens = (total: number): object =>
  event('token_count', {
    info: {
      total_token_usage: { total_tokens: total },
      last_token_usage: {
        input_tokens: 90,
        cached_input_tokens: 60,
        output_tokens: 10,
        reasoning_output_tokens: 4,
        total_tokens: 100,
      },
    },
  })

const read = (values: readonly unknown[], file = FILE): TranscriptItem[] => itemsOf(codex, file, linesOf(file, values))
const messages = (items: readonly TranscriptItem[]) => ofKind(items, 'message')
/** The entries of a context in short form: a text, or the id of a message. */
const messageWithId = (items: readonly TranscriptItem[], id: string): unknown =>
  messages(items).find(({ sourceId }) => sourceId === id)?.body.content
const leftOut = (items: readonly TranscriptItem[]): string[] => ofKind(items, 'left-out').map(({ what }) => what)

describe('a rollout', () => {
  const items = read([
    meta({ base_instructions: { text: 'You berth ships.' } }),
    event('task_started', { turn_id: 't1' }),
    item({ type: 'message', role: 'developer', content: [{ type: 'input_text', text: '<permissions>' }] }),
    user('# AGENTS.md instructions for /srv/berths\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>'),
    model('gpt-5'),
    user('Which berth is free?'),
    event('user_message', { message: 'Which berth is free?' }),
    reasoning('look'),
    event('agent_message', { message: 'I look.' }),
    answer('I look.'),
    call('c1', '{ "cmd" : "berths --free" }'),
    call('c2'),
    output('c1', 'Exit code: 0\nWall time: 0.1 seconds\nOutput:\nberth 7'),
    output('c2', 'Chunk ID: 1f\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nno such folder'),
    tokens(100),
    answer('Berth 7.'),
    event('task_complete', { turn_id: 't1' }),
  ])

  it('is the conversation of its first line', () => {
    expect(items[0]).toEqual({
      kind: 'conversation',
      sourceId: ID,
      programVersion: '0.142.0',
      cwd: '/srv/berths',
      startedAt: '2026-03-10T07:59:59.000Z',
      where: { file: FILE, line: 1 },
    })
  })

  it('yields the model’s input and output once', () => {
    expect(messages(items).map(({ body }) => body)).toEqual([
      { role: 'system', content: 'You berth ships.' },
      { role: 'developer', content: '<permissions>' },
      {
        role: 'user',
        content: '# AGENTS.md instructions for /srv/berths\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>',
      },
      { role: 'user', content: 'Which berth is free?' },
      {
        role: 'assistant',
        content: [
          {
            type: 'reasoning',
            id: 'rs_look',
            summary: [{ type: 'summary_text', text: 'look' }],
            encrypted_content: 'x9',
          },
        ],
      },
      { role: 'assistant', content: 'I look.' },
      {
        role: 'assistant',
        content: null,
        toolCalls: [
          { id: 'c1', type: 'function', function: { name: 'exec_command', arguments: '{ "cmd" : "berths --free" }' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        toolCalls: [{ id: 'c2', type: 'function', function: { name: 'exec_command', arguments: '{"cmd":"ls"}' } }],
      },
      { role: 'tool', content: 'Exit code: 0\nWall time: 0.1 seconds\nOutput:\nberth 7', toolCallId: 'c1' },
      {
        role: 'tool',
        content: 'Chunk ID: 1f\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nno such folder',
        toolCallId: 'c2',
      },
      { role: 'assistant', content: 'Berth 7.' },
    ])
    expect(leftOut(items)).toEqual([
      'event_msg/task_started',
      'turn_context',
      'event_msg/user_message',
      'event_msg/agent_message',
      'event_msg/token_count',
      'event_msg/task_complete',
    ])
  })

  it('groups the messages of an answer, with its model', () => {
    const answers = messages(items).filter(({ body }) => body.role === 'assistant')
    expect(answers.map(({ answerId }) => answerId)).toEqual([
      ...Array.from({ length: 4 }, () => 'answer-rs_look'),
      'answer-line-16',
    ])
    expect(new Set(answers.map((message) => message.model))).toEqual(new Set(['gpt-5']))
  })

  it('marks messages of the program and failed calls', () => {
    expect(messages(items).flatMap(({ byProgram, sourceId }) => (byProgram === true ? [sourceId] : []))).toEqual([
      'line-4',
    ])
    expect(messages(items).flatMap(({ isError, body }) => (isError === true ? [body.toolCallId] : []))).toEqual(['c2'])
  })
})

describe('text with the role user', () => {
  const byProgram = (...texts: string[]): boolean[] =>
    messages(read([meta(), ...texts.map((text) => user(text))])).map((message) => message.byProgram === true)

  it('is the program’s if it contains nothing else', () => {
    expect(
      byProgram(
        environment,
        '<user_instructions>\n\nBe brief.\n</user_instructions>',
        '<turn_aborted>\nThe user stopped it.\n</turn_aborted>',
        '<user_shell_command>\n<command>ls</command>\n</user_shell_command>',
        'Warning: apply_patch was requested via exec_command. Use the tool.',
      ),
    ).toEqual([true, true, true, true, true])
  })

  it('is the user’s if it contains a prompt as well', () => {
    expect(
      byProgram(
        `${environment}\nMoor the ferry.`,
        '# Context from my IDE setup:\n\n## Open tabs:\n- berth.ts\n\n## My request for Codex:\nMoor the ferry.',
        'What does <environment_context> mean?',
      ),
    ).toEqual([false, false, false])
  })

  it('is one message with several parts, the program’s if all parts are', () => {
    const parts = (...texts: string[]): object =>
      item({ type: 'message', role: 'user', content: texts.map((text) => ({ type: 'input_text', text })) })
    const items = messages(
      read([meta(), parts('# AGENTS.md instructions\nBe brief.', environment), parts(environment, 'Moor.')]),
    )
    expect(items.map((message) => message.byProgram)).toEqual([true, undefined])
    expect(items[1]?.body.content).toEqual([
      { type: 'text', text: environment },
      { type: 'text', text: 'Moor.' },
    ])
  })
})

describe('an item of a rollout', () => {
  const body = (payload: object): unknown => messages(read([meta(), item(payload)]))[0]?.body

  it('calls a tool that takes free text', () => {
    expect(
      body({ type: 'custom_tool_call', id: 'ctc_1', call_id: 'c', name: 'apply_patch', input: '*** Begin' }),
    ).toEqual({
      role: 'assistant',
      content: null,
      toolCalls: [{ id: 'c', type: 'custom', custom: { name: 'apply_patch', input: '*** Begin' } }],
    })
  })

  it('calls the shell in the format of the first versions', () => {
    const action = { type: 'exec', command: ['ls', '-l'] }
    expect(body({ type: 'local_shell_call', call_id: 'c', status: 'completed', action })).toEqual({
      role: 'assistant',
      content: null,
      toolCalls: [{ id: 'c', type: 'function', function: { name: 'local_shell', arguments: JSON.stringify(action) } }],
    })
  })

  it('searches tools, and receives their descriptions', () => {
    const tools = [{ type: 'function', name: 'crane' }]
    const items = messages(
      read([
        meta(),
        item({ type: 'tool_search_call', call_id: 'c', execution: 'client', arguments: { query: 'crane' } }),
        item({ type: 'tool_search_output', call_id: 'c', tools }),
        item({ type: 'tool_search_call', call_id: null, execution: 'server', arguments: { query: 'crane' } }),
      ]),
    )
    expect(items.map((message) => message.body)).toEqual([
      {
        role: 'assistant',
        content: null,
        toolCalls: [{ id: 'c', type: 'function', function: { name: 'tool_search', arguments: '{"query":"crane"}' } }],
      },
      { role: 'tool', content: JSON.stringify(tools), toolCallId: 'c' },
      { role: 'assistant', content: [{ type: 'tool_search', item: expect.objectContaining({ execution: 'server' }) }] },
    ])
  })

  it('contains calls that the provider ran, unchanged', () => {
    const search = {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'search', query: 'tide' },
    }
    const image = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'aGFyYm91cg==' }
    expect(body(search)).toEqual({ role: 'assistant', content: [{ type: 'web_search', item: search }] })
    expect(body(image)).toEqual({ role: 'assistant', content: [{ type: 'image_generation', item: image }] })
  })

  it('contains images, files and parts of unknown types', () => {
    expect(
      body({
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'See.' },
          { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'high' },
          { type: 'input_image', image_url: null },
          { type: 'input_file', file_id: 'file-1' },
          { type: 'input_smell', note: 'tar' },
        ],
      }),
    ).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: 'See.' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'high' } },
        { type: 'other', value: { type: 'input_image', image_url: null } },
        { type: 'file', file: { file_id: 'file-1' } },
        { type: 'input_smell', note: 'tar' },
      ],
    })
  })

  it('is a call’s result in parts, or as an object', () => {
    const items = messages(
      read([
        meta(),
        output('a', [
          { type: 'input_text', text: 'one' },
          { type: 'input_image', image_url: 'data:,' },
        ]),
        output('b', { content: 'no berth', success: false }),
        output('c', '{"output":"","metadata":{"exit_code":1,"duration_seconds":0.8}}'),
        output('d', 'exec command rejected by user'),
        output('e', 'The log says:\nExit code: 1\n'),
      ]),
    )
    expect(items.map(({ exitCode }) => exitCode)).toEqual([undefined, undefined, 1, undefined, undefined])
    expect(items.map((message) => [message.body.content, message.isError])).toEqual([
      [
        [
          { type: 'text', text: 'one' },
          { type: 'image_url', image_url: { url: 'data:,' } },
        ],
        undefined,
      ],
      ['no berth', true],
      ['{"output":"","metadata":{"exit_code":1,"duration_seconds":0.8}}', true],
      ['exec command rejected by user', true],
      ['The log says:\nExit code: 1\n', undefined],
    ])
  })

  it('is a message from another agent, with its name', () => {
    const message = { author: '/crew/crane', recipient: '/crew', content: [{ type: 'input_text', text: 'Lifted.' }] }
    const items = messages(
      read([meta(), item({ type: 'agent_message', ...message }), line('inter_agent_communication', message)]),
    )
    expect(items).toHaveLength(2)
    for (const { body: told, byProgram } of items)
      expect([told, byProgram]).toEqual([{ role: 'user', content: 'Lifted.', name: '/crew/crane' }, true])
  })

  it('is skipped and counted if it is empty or unknown', () => {
    expect(
      leftOut(
        read([
          meta(),
          item({ type: 'ghost_snapshot', ghost_commit: {} }),
          item({ type: 'telepathy' }),
          line('world_state', { full: true, state: {} }),
          { type: 'weather' },
          7,
        ]),
      ),
    ).toEqual(['response_item/ghost_snapshot', 'response_item/telepathy', 'world_state', 'weather', 'unknown'])
  })
})

describe('token counts', () => {
  const usage = { inputTokens: 90, outputTokens: 10, cacheReadTokens: 60, reasoningTokens: 4 }
  const usages = (values: readonly unknown[]): unknown[] =>
    messages(read(values)).flatMap((message) => (message.body.role === 'assistant' ? [message.usage] : []))

  it('belong to an answer if old versions reported them before its messages', () => {
    expect(
      usages([meta(), user('a'), tokens(100), reasoning('r'), call('c'), output('c', 'x'), tokens(200), answer('b')]),
    ).toEqual([usage, undefined, usage])
  })

  it('are on the next message if newer versions reported them after the answer', () => {
    const items = [
      meta(),
      user('a'),
      reasoning('r'),
      call('c'),
      output('c', 'x'),
      tokens(100),
      answer('b'),
      tokens(200),
    ]
    expect(usages(items)).toEqual([undefined, undefined, undefined])
    const all = messages(read([...items, tokens(200), user('d'), answer('e')]))
    const answerOf = (at: number): string | undefined => all[at]?.answerId
    expect(all.map(({ earlierUsage }) => earlierUsage)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      { answerId: answerOf(1), usage },
      { answerId: answerOf(4), usage },
      undefined,
    ])
    expect(answerOf(1)).toBe(answerOf(2))
  })

  it('are not reported twice', () => {
    expect(usages([meta(), user('a'), tokens(100), answer('b'), tokens(100), user('c'), answer('d')])).toEqual([
      usage,
      undefined,
    ])
  })
})

describe('a compaction that contains its context', () => {
  const developer = { type: 'message', role: 'developer', content: [{ type: 'input_text', text: '<permissions>' }] }
  const sealed = { type: 'compaction', id: 'cmp_1', encrypted_content: 'x9x9' }
  const before = [
    meta({ base_instructions: { text: 'You berth ships.' } }),
    event('task_started', { turn_id: 't1' }),
    item(developer),
    model('gpt-5'),
    user('Go on.', { id: 'first', internal_chat_message_metadata_passthrough: { turn_id: 't1' } }),
    call('c1'),
    output('c1', 'berth 7'),
    event('task_complete', {}),
    event('task_started', { turn_id: 't2' }),
    user('Go on.', { internal_chat_message_metadata_passthrough: { turn_id: 't2' } }),
    answer('I go on.'),
    tokens(400),
  ]

  it('retains the messages that it repeats, covers the rest, and has an opaque summary if it is encrypted', () => {
    const items = read([
      ...before,
      compacted({
        window_id: 'w2',
        replacement_history: [
          userItem('Go on.', { internal_chat_message_metadata_passthrough: { turn_id: 't1' } }),
          { ...developer, internal_chat_message_metadata_passthrough: { turn_id: 't2' } },
          sealed,
        ],
      }),
    ])
    expect(ofKind(items, 'compaction')).toEqual([
      {
        kind: 'compaction',
        sourceId: 'w2',
        at: expect.any(String),
        trigger: 'auto',
        summary: { kind: 'opaque' },
        context: [
          { kind: 'message', sourceId: 'base_instructions' },
          { kind: 'message', sourceId: 'first' },
          { kind: 'message', sourceId: 'line-3' },
          { kind: 'inserted', body: { role: 'assistant', content: [sealed] }, isSummary: true },
        ],
        tokensBefore: 100,
        model: 'gpt-5',
        where: { file: FILE, line: 13 },
      },
    ])
  })

  it('matches the latest of equal prompts if no turn id decides', () => {
    const [compaction] = ofKind(
      read([...before, compacted({ replacement_history: [userItem('Go on.')] })]),
      'compaction',
    )
    expect(compaction?.context[1]).toEqual({ kind: 'message', sourceId: 'line-10' })
  })

  it('has an opaque summary if its message is empty and no item contains one', () => {
    for (const payload of [{ replacement_history: [userItem('Go on.')] }, {}]) {
      const [compaction] = ofKind(read([...before, compacted({ message: '', ...payload })]), 'compaction')
      expect(compaction?.summary).toEqual({ kind: 'opaque' })
    }
  })

  it('has a readable summary if the program’s own model wrote it', () => {
    const summary = 'Another language model started to solve this problem and produced a summary.\nBerth 7.'
    for (const message of [summary, '']) {
      const [compaction] = ofKind(
        read([...before, compacted({ message, replacement_history: [userItem('Go on.'), userItem(summary)] })]),
        'compaction',
      )
      expect(compaction?.summary).toEqual({ kind: 'text', text: summary })
      expect(compaction?.context.at(-1)).toEqual({
        kind: 'inserted',
        body: { role: 'user', content: summary },
        isSummary: true,
      })
    }
  })

  it('inserts a prompt that it shortened, and covers the whole one', () => {
    const [compaction] = ofKind(
      read([...before, compacted({ replacement_history: [userItem('Go…'), { type: 'telepathy', strength: 2 }] })]),
      'compaction',
    )
    expect(compaction?.context.slice(1)).toEqual([
      { kind: 'inserted', body: { role: 'user', content: 'Go…' } },
      {
        kind: 'inserted',
        body: { role: 'assistant', content: [{ type: 'telepathy', strength: 2 }] },
      },
    ])
  })

  it('follows another one, whose summary it does not retain', () => {
    const items = read([
      ...before,
      compacted({ window_id: 'w2', replacement_history: [userItem('Go on.'), sealed] }),
      user('And now?'),
      compacted({ window_id: 'w3', replacement_history: [userItem('Go on.'), userItem('And now?')] }),
    ])
    expect(ofKind(items, 'compaction').map(({ context }) => context.slice(1))).toEqual([
      [
        { kind: 'message', sourceId: 'line-10' },
        { kind: 'inserted', body: { role: 'assistant', content: [sealed] }, isSummary: true },
      ],
      [
        { kind: 'message', sourceId: 'line-10' },
        { kind: 'message', sourceId: 'line-14' },
      ],
    ])
  })

  it('covers missing messages if the file begins in the middle', () => {
    const [cut] = ofKind(read([user('Go on.'), compacted({ replacement_history: [] })]), 'compaction')
    expect(cut?.coversMissing).toBe(true)
    const [later] = ofKind(
      read([meta(), compacted({ replacement_history: [], first_window_id: 'w1', previous_window_id: 'w4' })]),
      'compaction',
    )
    expect(later?.coversMissing).toBe(true)
    const [whole] = ofKind(read([...before, compacted({ replacement_history: [] })]), 'compaction')
    expect(whole?.coversMissing).toBeUndefined()
  })
})

describe('a compaction of the first versions', () => {
  it('contains its summary, but not which prompts stayed', () => {
    const items = read([
      meta({ cli_version: '0.36.0' }),
      user(environment),
      user('Which berth is free?'),
      answer('Berth 7.'),
      user('<turn_aborted>\nStopped.\n</turn_aborted>'),
      user('Moor the ferry.'),
      call('c1'),
      output('c1', 'moored'),
      compacted({ message: 'The ferry lies at berth 7.' }),
    ])
    expect(ofKind(items, 'compaction')[0]).toMatchObject({
      trigger: 'unknown',
      summary: { kind: 'text', text: 'The ferry lies at berth 7.' },
      context: [{ kind: 'inserted', body: { role: 'user', content: 'The ferry lies at berth 7.' }, isSummary: true }],
      unknown: ['line-2', 'line-3', 'line-6'],
    })
  })
})

describe('a rollback', () => {
  const turn = (id: string, ...rest: object[]): object[] => [event('task_started', { turn_id: id }), ...rest]
  const back = (turns: number): object => event('thread_rolled_back', { num_turns: turns })
  const withdrawnIds = (items: readonly TranscriptItem[]): unknown[] =>
    ofKind(items, 'withdrawal').map(({ sourceIds }) => sourceIds.map((id) => messageWithId(items, id)))

  it('removes the newest turns, with the program’s messages before their prompts', () => {
    const items = read([
      meta(),
      ...turn('t1', user(environment), user('one'), answer('1')),
      ...turn('t2', user('two'), answer('2')),
      ...turn('t3', user(environment.replace('berths', 'quay')), user('three'), answer('3')),
      back(2),
      ...turn('t4', user('four'), answer('4')),
      back(1),
    ])
    expect(withdrawnIds(items)).toEqual([
      ['two', '2', environment.replace('berths', 'quay'), 'three', '3'],
      ['four', '4'],
    ])
  })

  it('keeps the beginning, even if it counts more turns', () => {
    const items = read([meta(), ...turn('t1', user(environment), user('one'), answer('1')), back(9), back(1), back(0)])
    expect(withdrawnIds(items)).toEqual([['one', '1']])
    expect(leftOut(items).slice(-2)).toEqual(['event_msg/thread_rolled_back', 'event_msg/thread_rolled_back'])
  })

  it('undoes a compaction in the removed turns', () => {
    const items = read([
      meta(),
      ...turn('t1', user('one'), answer('1')),
      ...turn('t2', user('two'), compacted({ window_id: 'w2', replacement_history: [userItem('two')] }), answer('2')),
      back(1),
      user('three'),
      compacted({ window_id: 'w3', replacement_history: [userItem('one'), userItem('three')] }),
    ])
    expect(items.filter(({ kind }) => kind === 'undo' || kind === 'withdrawal').map(({ kind }) => kind)).toEqual([
      'undo',
      'withdrawal',
    ])
    expect(ofKind(items, 'undo')[0]?.sourceIds).toEqual(['w2'])
    expect(withdrawnIds(items)).toEqual([['two', '2']])
    // The messages that the compaction had covered are live again.
    expect(ofKind(items, 'compaction').at(-1)?.context).toEqual([
      { kind: 'message', sourceId: 'line-3' },
      { kind: 'message', sourceId: 'line-10' },
    ])
  })

  it('counts prompts in files that have no records of turns', () => {
    const items = read([meta(), user('one'), answer('1'), user(environment), user('two'), answer('2'), back(1)])
    expect(withdrawnIds(items)).toEqual([[environment, 'two', '2']])
  })
})

describe('the parent of a conversation', () => {
  const parent = (more: object): unknown => ofKind(read([meta(more)]), 'conversation')[0]?.parent

  it('is in its first line', () => {
    expect(parent({})).toBeUndefined()
    expect(parent({ forked_from_id: 'p' })).toEqual({ sourceId: 'p', how: 'fork' })
    expect(parent({ history_base: { thread_id: 'p', end_ordinal_exclusive: 9 } })).toEqual({
      sourceId: 'p',
      how: 'fork',
    })
    expect(
      parent({ forked_from_id: 'p', source: { subagent: { thread_spawn: { parent_thread_id: 'p', depth: 1 } } } }),
    ).toEqual({ sourceId: 'p', how: 'sub-agent' })
    expect(parent({ session_id: 'p', source: { subagent: 'review' } })).toEqual({ sourceId: 'p', how: 'sub-agent' })
  })

  it('keeps the copied lines of the parent in a fork', () => {
    const items = read([
      meta({ forked_from_id: 'p' }),
      meta({ id: 'p', base_instructions: { text: 'You berth ships.' } }),
      user('one'),
      event('thread_name_updated', { thread_id: 'p', thread_name: 'Berths of the parent' }),
      event('thread_name_updated', { thread_id: ID, thread_name: 'Berths' }),
    ])
    expect(ofKind(items, 'conversation').map(({ sourceId, title }) => [sourceId, title])).toEqual([
      [ID, undefined],
      [ID, 'Berths'],
    ])
    expect(messages(items).map(({ body }) => body.content)).toEqual(['one'])
    expect(leftOut(items)).toEqual(['session_meta', 'event_msg/thread_name_updated'])
  })

  it('skips the lines that a sub-agent’s file marks as the parent’s', () => {
    const source = { subagent: { thread_spawn: { parent_thread_id: 'p', depth: 1 } } }
    const items = read([
      { ...meta({ source, subagent_history_start_ordinal: 3 }), ordinal: 0 },
      { ...meta({ id: 'p' }), ordinal: 1 },
      { ...user('one'), ordinal: 2 },
      { ...user('two'), ordinal: 3 },
      { ...compacted({ replacement_history: [userItem('one'), userItem('two')] }), ordinal: 4 },
    ])
    expect(messages(items).map(({ body }) => body.content)).toEqual(['two'])
    expect(leftOut(items)).toEqual(['inherited/session_meta', 'inherited/response_item'])
    expect(ofKind(items, 'compaction')[0]).toMatchObject({
      coversMissing: true,
      context: [
        { kind: 'inserted', body: { role: 'user', content: 'one' } },
        { kind: 'message', sourceId: 'line-4' },
      ],
    })
  })
})

describe('the oldest files', () => {
  it('have one item per line', () => {
    const items = read([
      { id: ID, timestamp: '2025-06-01T08:00:00.000Z', instructions: null, git: {} },
      { record_type: 'state' },
      userItem('one'),
      answerItem('1'),
      { type: 'function_call', name: 'shell', arguments: '{}', call_id: 'c', id: null },
      { type: 'function_call_output', call_id: 'c', output: 'x' },
    ])
    expect(ofKind(items, 'conversation')[0]).toMatchObject({ sourceId: ID, startedAt: '2025-06-01T08:00:00.000Z' })
    expect(messages(items).map(({ body }) => body.role)).toEqual(['user', 'assistant', 'assistant', 'tool'])
    expect(leftOut(items)).toEqual(['state'])
  })

  it('get their id from the file name if they have no header', () => {
    expect(read([user('one')])[0]).toMatchObject({ kind: 'conversation', sourceId: ID })
    expect(read([user('one')], '/tmp/half.jsonl')[0]).toMatchObject({ sourceId: 'half' })
  })
})

describe('the files of Codex', () => {
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'codex-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  const file = async (name: string, content: string | Uint8Array): Promise<string> => {
    const path = join(folder, name)
    await writeFile(path, content)
    return path
  }
  const text = (values: readonly unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('')
  const recordsIn = async (path: string, decompress?: () => Transform | undefined): Promise<TranscriptRecord[]> => {
    const records: TranscriptRecord[] = []
    for await (const record of rolloutRecords(path, ...(decompress === undefined ? [] : [decompress])))
      records.push(record)
    return records
  }
  const layout = async (path: string): Promise<string | undefined> => codex.recognize(await headOf(path))
  /** A substitute for zstd: a magic number, followed by data that requires a stream to read. */
  const compressed = (content: string): Buffer =>
    Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), gzipSync(content)])
  const decompress = (): Transform => {
    const chunks: Buffer[] = []
    return new Transform({
      transform(chunk: Buffer, _encoding, done) {
        chunks.push(chunk)
        done()
      },
      flush(done) {
        try {
          done(null, gunzipSync(Buffer.concat(chunks).subarray(4)))
        } catch (error) {
          done(error instanceof Error ? error : new Error(String(error)))
        }
      },
    })
  }

  it('are recognized by their content', async () => {
    expect(await layout(await file('a.jsonl', text([meta(), user('one')])))).toBe('lines')
    expect(await layout(await file('b.jsonl', text([user('one')])))).toBe('lines')
    expect(await layout(await file('c.jsonl', text([{ id: 'x', timestamp: '2025-06-01T08:00:00Z', git: {} }])))).toBe(
      'lines',
    )
    expect(
      await layout(await file('d.jsonl', text([{ type: 'user', uuid: 'u', message: { role: 'user' } }]))),
    ).toBeUndefined()
    expect(await layout(await file('e.json', '{"messages":[]}'))).toBeUndefined()
    expect(await layout(await file(`rollout-2026-03-10T08-00-00-${ID}.jsonl.zst`, compressed('')))).toBe('own')
    expect(await layout(await file('f.zst', compressed('')))).toBeUndefined()
  })

  it('are in the directories of Codex', () => {
    expect(codex.homes({}, '/home/ada')).toEqual(['/home/ada/.codex/sessions', '/home/ada/.codex/archived_sessions'])
    expect(codex.homes({ CODEX_HOME: '/srv/codex' }, '/home/ada')[0]).toBe('/srv/codex/sessions')
  })

  it('are read line by line, with damage at its position', async () => {
    const path = await file('g.jsonl', `${text([meta(), user('one')])}not JSON\n${text([answer('1')])}{"timest`)
    const items = itemsOf(codex, path, await recordsIn(path))
    expect(items.map(({ kind }) => kind)).toEqual(['conversation', 'message', 'damage', 'message', 'damage'])
    expect(ofKind(items, 'damage').map(({ isCut, where }) => [isCut, where.line])).toEqual([
      [false, 3],
      [true, 5],
    ])
  })

  it('are decompressed if this version of Node.js can', async () => {
    const path = await file('h.jsonl.zst', compressed(text([meta(), user('one'), answer('1')])))
    const items = itemsOf(codex, path, await recordsIn(path, decompress))
    expect(messages(items).map(({ body, where }) => [body.content, where.line])).toEqual([
      ['one', 2],
      ['1', 3],
    ])
  })

  it('report what to do if it cannot', async () => {
    const path = await file('i.jsonl.zst', compressed(text([meta()])))
    const items = itemsOf(codex, path, await recordsIn(path, () => undefined))
    expect(items).toEqual([
      {
        kind: 'damage',
        detail: expect.stringMatching(/Node reads from version 22\.15 on.*zstd -d/u),
        isCut: false,
        where: { file: path },
      },
    ])
  })

  it('report broken data', async () => {
    const path = await file('j.jsonl.zst', compressed(text([meta(), user('one')])).subarray(0, -9))
    const items = itemsOf(codex, path, await recordsIn(path, decompress))
    expect(ofKind(items, 'damage')[0]?.detail).toMatch(/^cannot be decompressed: /u)
  })
})

describe('any rollout', () => {
  const words = fc.constantFrom(
    'one',
    'two',
    environment,
    '',
    'Another language model started to solve this problem and produced a summary',
  )
  const ids = fc.constantFrom('a', 'b', 'c', '')
  const anything = fc.jsonValue({ maxDepth: 3 })
  const items = fc.oneof(
    words.map((text) => userItem(text)),
    fc
      .record({ text: words, id: ids, turn: ids })
      .map(({ text, id, turn }) => userItem(text, { id, metadata: { turn_id: turn } })),
    words.map(answerItem),
    fc.record({ type: fc.constant('reasoning'), id: ids, summary: anything, encrypted_content: anything }),
    fc.record({ type: fc.constant('function_call'), name: words, arguments: anything, call_id: ids }),
    fc.record({ type: fc.constant('custom_tool_call'), name: words, input: anything, call_id: ids }),
    fc.record({
      type: fc.constantFrom('function_call_output', 'custom_tool_call_output', 'tool_search_output'),
      call_id: ids,
      output: anything,
      tools: anything,
    }),
    fc.record({
      type: fc.constantFrom(
        'web_search_call',
        'image_generation_call',
        'local_shell_call',
        'tool_search_call',
        'compaction',
        'x',
      ),
      id: ids,
      call_id: anything,
      action: anything,
    }),
    fc.record({
      type: fc.constant('message'),
      role: fc.constantFrom('user', 'assistant', 'developer', 'x'),
      content: anything,
    }),
    anything,
  )
  const lines = fc.oneof(
    {
      weight: 6,
      arbitrary: items.map((payload) => ({ timestamp: '2026-03-10T08:00:00Z', type: 'response_item', payload })),
    },
    { weight: 1, arbitrary: items },
    {
      weight: 2,
      arbitrary: fc
        .record({
          message: words,
          replacement_history: fc.option(fc.array(items, { maxLength: 6 }), { nil: undefined }),
          window_id: ids,
        })
        .map((payload) => line('compacted', payload)),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        event('task_started'),
        event('task_complete'),
        tokens(1),
        tokens(2),
        event('thread_rolled_back', { num_turns: 1 }),
        event('thread_rolled_back', { num_turns: 2 }),
        event('thread_name_updated', { thread_name: 'x' }),
        meta(),
        model('m'),
      ),
    },
    {
      weight: 1,
      arbitrary: fc.record({ type: fc.constantFrom('compacted', 'event_msg', 'session_meta'), payload: anything }),
    },
    { weight: 1, arbitrary: anything },
    { weight: 1, arbitrary: fc.constant(undefined) },
  )

  it('satisfies the rules for all transcripts', () => {
    const cuts = fc.double({ min: 0, max: 1, noNaN: true })
    fc.assert(
      fc.property(fc.array(lines, { maxLength: 40 }), fc.boolean(), cuts, (values, begins, cut) => {
        const first = begins ? [meta({ base_instructions: { text: 'You berth ships.' } })] : []
        const records = linesOf(FILE, [...first, ...values])
        expect(lawfulItems(codex, FILE, records, cut).length).toBeGreaterThanOrEqual(records.length)
      }),
      { numRuns: 300 },
    )
  })

  it('does not overflow the stack', () => {
    let deep: unknown = 'x'
    for (let level = 0; level < 5000; level += 1) deep = [deep]
    const kinds = read([meta(), item({ type: 'function_call', name: 'x', call_id: 'c', arguments: deep }), user('one')])
    expect(kinds.map(({ kind }) => kind)).toEqual(['conversation', 'damage', 'message'])
  })
})

describeWithTranscripts('what real rollouts took (needs ../shared/transcripts, or CONTEXT_LEDGER_TRANSCRIPTS)', () => {
  // If counts follow their answers, no message follows the last answer.
  it.each([
    ['v0.36.0-chinese-abort.jsonl', 0],
    ['v0.142.2-two-compacted.jsonl', 1],
  ])('%s: the sum of all answers is the total that Codex wrote, less the last %i', async (name, untold) => {
    const path = join(transcriptsFolder, 'codex', name)
    const records: TranscriptRecord[] = []
    for await (const record of recordsOf(path, 'lines')) if (!('kind' in record)) records.push(record)
    const infos = records.flatMap(
      ({ value }) =>
        z.object({ payload: z.object({ type: z.literal('token_count'), info: countsSchema }) }).safeParse(value).data ??
        [],
    )
    const last = infos.at(-1)?.payload.info
    const all = messages(itemsOf(codex, path, records))
    const reported = all.flatMap(({ usage, earlierUsage }) =>
      [usage, earlierUsage?.usage].filter((one) => one !== undefined),
    )
    const sum = (field: 'inputTokens' | 'outputTokens'): number =>
      reported.reduce((total, usage) => total + (usage[field] ?? 0), 0)
    expect(reported.length).toBeGreaterThan(50)
    expect(sum('inputTokens') + untold * (last?.last_token_usage.input_tokens ?? 0)).toBe(
      last?.total_token_usage.input_tokens,
    )
    expect(sum('outputTokens') + untold * (last?.last_token_usage.output_tokens ?? 0)).toBe(
      last?.total_token_usage.output_tokens,
    )
    const answers = new Set(all.map(({ answerId }) => answerId))
    const named = all.flatMap(({ earlierUsage }) => earlierUsage?.answerId ?? [])
    expect(named.filter((id) => !answers.has(id))).toEqual([])
    expect(new Set(named).size).toBe(named.length)
  })
})
