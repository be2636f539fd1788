/**
 * Handwritten events of OpenHands: a directory of events of its SDK, a file with one event per line, and the list of
 * actions and observations of its first version.
 */
import { plainContentId } from '../../src/application/importers/content-id.js'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { openhands } from '../../src/application/importers/openhands.js'
import { headOf, recordsOf } from '../../src/application/importers/records-of.js'
import type { TranscriptItem, TranscriptRecord } from '../../src/application/importers/transcript.js'
import { asFile, asLines, violationsOf, itemsFrom, linesOf, ofKind, refusedIn, itemsWithoutEnd } from './reading.js'

const read = (): ReturnType<typeof openhands.read> => openhands.read('/home/somebody/events.jsonl', plainContentId)
const itemsOfLines = (values: readonly unknown[]): readonly TranscriptItem[] => itemsFrom(read(), asLines(values))

type Fields = Readonly<Record<string, unknown>>
const event = (kind: string, id: string, over: object = {}): Fields => ({
  kind,
  id,
  timestamp: '2026-06-16T05:39:18.809928',
  source: 'agent',
  ...over,
})
const texts = (...said: readonly string[]): readonly unknown[] =>
  said.map((text) => ({ type: 'text', text, cache_prompt: false }))
const user = (id: string, said: string, over: object = {}): Fields =>
  event('MessageEvent', id, { source: 'user', llm_message: { role: 'user', content: texts(said) }, ...over })
const action = (id: string, callId: string, over: object = {}): Fields =>
  event('ActionEvent', id, {
    thought: [],
    tool_name: 'terminal',
    tool_call_id: callId,
    tool_call: { id: callId, name: 'terminal', arguments: '{"command": "ls"}' },
    llm_response_id: 'r1',
    ...over,
  })
const observation = (id: string, callId: string, said: string, over: object = {}): Fields =>
  event('ObservationEvent', id, {
    source: 'environment',
    tool_call_id: callId,
    observation: { content: texts(said), is_error: false, ...over },
  })
const condensation = (id: string, forgotten: readonly string[], over: object = {}): Fields =>
  event('Condensation', id, {
    source: 'environment',
    forgotten_event_ids: forgotten,
    summary: `summary ${id}`,
    summary_offset: 1,
    llm_response_id: 'r9',
    ...over,
  })
const entry = (sourceId: string): object => ({ kind: 'message', sourceId })
const summed = (id: string, isSummary = true): object => ({
  kind: 'inserted',
  body: { role: 'user', content: `summary ${id}` },
  ...(isSummary ? { isSummary: true } : {}),
})
const contexts = (items: readonly TranscriptItem[]): readonly unknown[] =>
  ofKind(items, 'compaction').map(({ context }) => context)

describe('events', () => {
  it('are messages, each emitted when it is read', () => {
    const items = itemsOfLines([
      event('SystemPromptEvent', 'e0', {
        system_prompt: texts('You work.')[0],
        dynamic_context: texts('Here.')[0],
        tools: [],
      }),
      user('e1', 'list'),
      event('ConversationStateUpdateEvent', 'e2', { source: 'environment', key: 'stats', value: {} }),
      action('e3', 'c1', { thought: texts('I list.') }),
      observation('e4', 'c1', 'a b'),
      event('MessageEvent', 'e5', {
        llm_message: { role: 'assistant', content: texts('Two files.') },
        llm_response_id: 'r2',
      }),
    ])
    expect(linesOf(items)).toEqual([
      'e0.0 system: [{"type":"text","text":"You work."},{"type":"text","text":"Here."}]',
      'e1.0 user: list',
      'e3.0 assistant: I list. +c1',
      'e4.0 tool: a b =c1',
      'e5.0 assistant: Two files.',
    ])
    const [, , called] = ofKind(items, 'message')
    expect(called).toEqual(
      expect.objectContaining({
        at: '2026-06-16T05:39:18.809Z',
        answerId: 'r1',
        where: expect.objectContaining({ line: 4 }),
      }),
    )
    expect(called?.body.toolCalls).toEqual([
      { id: 'c1', type: 'function', function: { name: 'terminal', arguments: '{"command": "ls"}' } },
    ])
    expect(ofKind(items, 'left-out').map(({ what }) => what)).toEqual(['ConversationStateUpdateEvent'])
  })

  it('of one answer’s calls share its id', () => {
    const items = itemsOfLines([action('e1', 'c1', { thought: texts('Both.') }), action('e2', 'c2')])
    expect(linesOf(items)).toEqual(['e1.0 assistant: Both. +c1', 'e2.0 assistant: null +c2'])
    expect(ofKind(items, 'message').map(({ answerId }) => answerId)).toEqual(['r1', 'r1'])
  })

  it('contain the reasoning once, in the form that its provider requires', () => {
    const thoughts = {
      reasoning_content: 'hm',
      thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 's' }],
    }
    const contentOf = (over: object): unknown =>
      ofKind(itemsOfLines([action('e1', 'c1', over)]), 'message')[0]?.body.content
    expect(contentOf(thoughts)).toEqual(thoughts.thinking_blocks)
    expect(contentOf({ reasoning_content: 'hm' })).toEqual([{ type: 'reasoning', text: 'hm' }])
    const item = { id: 'rs', encrypted_content: 'x' }
    expect(contentOf({ reasoning_content: 'hm', responses_reasoning_item: item })).toEqual([
      { type: 'reasoning', ...item },
    ])
  })

  it('mark results that failed or were rejected, also in the format of older tools', () => {
    expect(
      linesOf(
        itemsOfLines([
          observation('e1', 'c1', 'no', { is_error: true }),
          event('AgentErrorEvent', 'e2', { tool_call_id: 'c2', error: 'no such tool' }),
          event('UserRejectObservation', 'e3', { tool_call_id: 'c3', rejection_reason: 'not now' }),
          event('ObservationEvent', 'e4', { tool_call_id: 'c4', observation: { output: 'old', exit_code: 0 } }),
        ]),
      ),
    ).toEqual([
      'e1.0 tool (error): no =c1',
      'e2.0 tool (error): no such tool =c2',
      'e3.0 tool (error): Action rejected: not now =c3',
      'e4.0 tool (exit 0): old =c4',
    ])
  })

  it('distinguish texts of the program and the user', () => {
    const hook = user('e2', 'Go on.', { source: 'hook' })
    const rules = user('e1', 'do it', { extended_content: texts('a rule') })
    expect(linesOf(itemsOfLines([rules, hook]))).toEqual([
      'e1.0 user: [{"type":"text","text":"do it"},{"type":"text","text":"a rule"}]',
      'e2.0 user (program): Go on.',
    ])
  })
})

describe('condensations', () => {
  const talk = [user('e1', 'one'), action('e2', 'c1'), observation('e3', 'c1', 'x'), user('e4', 'four')]

  it('forget the named events, and insert the summary at the given index', () => {
    const items = itemsOfLines([...talk, condensation('k1', ['e2', 'e3'])])
    expect(ofKind(items, 'compaction')).toEqual([
      expect.objectContaining({
        sourceId: 'k1',
        trigger: 'auto',
        summary: { kind: 'text', text: 'summary k1' },
        context: [entry('e1'), summed('k1'), entry('e4')],
      }),
    ])
    expect(ofKind(items, 'compaction')[0]?.coversMissing).toBeUndefined()
  })

  it('can forget an earlier summary by its id, or keep it', () => {
    const first = [...talk, condensation('k1', ['e2', 'e3']), user('e5', 'five')]
    expect(contexts(itemsOfLines([...first, condensation('k2', ['k1-summary', 'e4'])]))[1]).toEqual([
      entry('e1'),
      summed('k2'),
      entry('e5'),
    ])
    expect(contexts(itemsOfLines([...first, condensation('k2', ['e4'])]))[1]).toEqual([
      entry('e1'),
      summed('k2'),
      summed('k1', false),
      entry('e5'),
    ])
  })

  it('without a summary replace nothing', () => {
    const [compaction] = ofKind(
      itemsOfLines([...talk, condensation('k', ['e2', 'e3'], { summary: null })]),
      'compaction',
    )
    expect(compaction).toEqual(
      expect.objectContaining({ summary: { kind: 'none' }, context: [entry('e1'), entry('e4')] }),
    )
  })

  it('have the trigger of their request, and cover missing messages in a partial file', () => {
    const request = event('CondensationRequest', 'q', { source: 'user' })
    const [compaction] = ofKind(itemsOfLines([...talk, request, condensation('k', ['gone', 'e2', 'e3'])]), 'compaction')
    expect(compaction).toEqual(expect.objectContaining({ trigger: 'manual', coversMissing: true }))
  })
})

describe('the tree', () => {
  const on = (parent: string | undefined, value: Fields): Fields => ({ ...value, parent_id: parent })
  const stem = [user('e1', 'one'), on('e1', user('e2', 'two')), on('e2', user('e3', 'three'))]

  it('withdraws messages that are not on the branch of a new event', () => {
    const items = itemsOfLines([...stem, on('e1', user('e4', 'other'))])
    expect(ofKind(items, 'withdrawal').map(({ sourceIds }) => sourceIds)).toEqual([['e2', 'e3']])
    expect(items.at(-1)).toEqual(expect.objectContaining({ kind: 'message', sourceId: 'e4' }))
  })

  it('emits messages again if the user returns to their branch', () => {
    const items = itemsOfLines([...stem, on('e1', user('e4', 'other')), on('e3', user('e5', 'back'))])
    expect(linesOf(items).slice(-4)).toEqual([
      'e4.0 user: other',
      'e2.0 user: two',
      'e3.0 user: three',
      'e5.0 user: back',
    ])
    expect(ofKind(items, 'withdrawal').map(({ sourceIds }) => sourceIds)).toEqual([['e2', 'e3'], ['e4']])
  })

  it('undoes a condensation on an abandoned branch, and emits it again if the branch returns', () => {
    const items = itemsOfLines([
      ...stem,
      on('e3', condensation('k', ['e2'])),
      on('e2', user('e4', 'other')),
      on('k', user('e5', 'back')),
    ])
    expect(items.slice(4).map((item) => (item.kind === 'message' ? item.sourceId : item.kind))).toEqual([
      'compaction',
      'undo',
      'withdrawal',
      'e4',
      'withdrawal',
      'e3',
      'compaction',
      'e5',
    ])
    const allItems = [...items, ...itemsOfLines([])]
    expect(contexts(allItems)[1]).toEqual(contexts(allItems)[0])
  })

  it('starts over at a second root', () => {
    const items = itemsOfLines([...stem, on('__root__', user('e4', 'anew'))])
    expect(ofKind(items, 'withdrawal').map(({ sourceIds }) => sourceIds)).toEqual([['e1', 'e2', 'e3']])
  })

  it('stays on its branch for events of the program and for unknown parents', () => {
    const state = event('ConversationStateUpdateEvent', 's', { source: 'environment' })
    const items = itemsOfLines([...stem, state, on('e3', user('e4', 'four')), on('gone', user('e5', 'five'))])
    expect(ofKind(items, 'withdrawal')).toEqual([])
  })
})

describe('the directory of a conversation', () => {
  const base = {
    id: '11111111-2222-3333-4444-555555555555',
    agent: { kind: 'Agent' },
    workspace: { working_dir: '/home/somebody/work' },
    execution_status: 'idle',
  }
  const inFolder = async (
    files: Readonly<Record<string, unknown>>,
    check: (folder: string) => Promise<void>,
  ): Promise<void> => {
    const root = await mkdtemp(join(tmpdir(), 'openhands-'))
    const folder = join(root, '11111111222233334444555555555555')
    try {
      await mkdir(join(folder, 'events'), { recursive: true })
      for (const [name, value] of Object.entries(files)) await writeFile(join(folder, name), JSON.stringify(value))
      await check(folder.split(sep).join('/'))
    } finally {
      await rm(root, { recursive: true })
    }
  }
  const recordsOfFiles = async (paths: readonly string[]): Promise<readonly TranscriptRecord[]> => {
    const records: TranscriptRecord[] = []
    for (const path of paths) {
      expect(openhands.recognize(await headOf(path))).toBe('json')
      for await (const record of recordsOf(path, 'json')) if (!('kind' in record)) records.push(record)
    }
    return records
  }
  const files = {
    'base_state.json': base,
    'events/event-00000-e1.json': user('e1', 'one'),
    'events/event-99999-e2.json': user('e2', 'two'),
    'events/event-100000-e3.json': user('e3', 'three'),
  }

  it('is read in the order of its numbers, from any of its files', () =>
    inFolder(files, async (folder) => {
      const paths = (await openhands.siblings?.(`${folder}/events/event-00000-e1.json`)) ?? []
      expect(await openhands.siblings?.(`${folder}/base_state.json`)).toEqual(paths)
      const records = await recordsOfFiles(paths)
      const items = itemsFrom(read(), records)
      expect(linesOf(items)).toEqual(['e1.0 user: one', 'e2.0 user: two', 'e3.0 user: three'])
      expect(ofKind(items, 'conversation')).toEqual([
        expect.objectContaining({ sourceId: base.id, cwd: '/home/somebody/work' }),
      ])
      expect(violationsOf(read, records)).toEqual([])
    }))

  it('has the same id without its state', () =>
    inFolder({ ...files, 'base_state.json': null }, async (folder) => {
      const records = await recordsOfFiles([`${folder}/events/event-00000-e1.json`])
      expect(ofKind(itemsFrom(read(), records), 'conversation').map(({ sourceId }) => sourceId)).toEqual([base.id])
    }))

  it('is not a conversation if it contains only the state', () => {
    expect(openhands.recognize({ path: '/c/base_state.json', records: [base], text: '' })).toBe('json')
    expect(itemsFrom(read(), asFile(base)).map((item) => (item.kind === 'left-out' ? item.what : item.kind))).toEqual([
      'base_state',
    ])
  })

  it('switches at the end to the agent’s current event', () => {
    const events = [user('e1', 'one'), user('e2', 'two')]
    const withdrawn = (state: object): readonly (readonly string[])[] =>
      ofKind(itemsOfLines([{ ...base, ...state }, ...events]), 'withdrawal').map(({ sourceIds }) => sourceIds)
    expect(withdrawn({ leaf_event_id: 'e2' })).toEqual([])
    expect(withdrawn({ leaf_event_id: 'e1' })).toEqual([['e2']])
    expect(withdrawn({ leaf_event_id: null, head_is_empty: true })).toEqual([['e1', 'e2']])
    expect(withdrawn({ leaf_event_id: 'not written yet' })).toEqual([])
  })
})

describe('the first version', () => {
  const model = (id: string, content: string, ...callIds: readonly string[]): object => ({
    id,
    model: 'some-model',
    usage: { prompt_tokens: 9, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4 } },
    choices: [
      {
        message: {
          role: 'assistant',
          content,
          tool_calls: callIds.map((callId) => ({
            id: callId,
            type: 'function',
            function: { name: 'execute_bash', arguments: `{"command": "${callId}"}` },
          })),
        },
      },
    ],
  })
  const metadata = (callId: string, response: object): object => ({
    tool_call_metadata: { function_name: 'execute_bash', tool_call_id: callId, model_response: response },
  })
  const first = (id: number, over: object): Fields => ({
    id,
    timestamp: '2025-01-27T22:44:56.900854',
    source: 'agent',
    message: '',
    ...over,
  })
  const answer = model('r1', 'Both.', 'c1', 'c2')
  const list = [
    first(0, { action: 'system', args: { content: 'You work.' } }),
    first(1, { source: 'user', action: 'message', args: { content: 'go', image_urls: null } }),
    first(2, {
      source: 'environment',
      observation: 'recall',
      content: 'Added context',
      extras: { repo_instructions: 'Rules.', microagent_knowledge: [{ name: 'n', content: 'Known.' }] },
    }),
    first(3, { action: 'run', args: { command: 'c1' }, ...metadata('c1', answer) }),
    first(4, { observation: 'run', cause: 3, content: 'x', ...metadata('c1', answer) }),
    first(5, { action: 'run', args: { command: 'c2' }, ...metadata('c2', answer) }),
    first(6, { observation: 'error', cause: 5, content: 'broken', ...metadata('c2', answer) }),
    first(7, { source: 'environment', observation: 'agent_state_changed', content: '' }),
    first(8, { source: 'user', action: 'run', args: { command: 'pwd' } }),
    first(9, { source: 'user', observation: 'run', cause: 8, content: '/w' }),
    first(10, { action: 'message', args: { content: 'Done.' } }),
  ]

  it('emits an answer once, with separate calls, and results by call id', () => {
    const items = itemsFrom(read(), asFile(list))
    expect(linesOf(items)).toEqual([
      '0.0 system: You work.',
      '1.0 user: go',
      '2.0 user (program): Rules.\n\nKnown.',
      '3.0 assistant: Both. +c1',
      '4.0 tool: x =c1',
      '5.0 assistant: null +c2',
      '6.0 tool (error): broken =c2',
      '8.0 user (program): User executed the command:\npwd',
      '9.0 user (program): /w',
      '10.0 assistant: Done.',
    ])
    expect(ofKind(items, 'message')[3]).toEqual(
      expect.objectContaining({
        answerId: 'r1',
        model: 'some-model',
        usage: { inputTokens: 9, outputTokens: 2, cacheReadTokens: 4 },
      }),
    )
    expect(violationsOf(read, asLines(list))).toEqual([])
  })

  it('generates an id for a call without one, and finds its result by the cause', () => {
    const items = itemsFrom(
      read(),
      asFile([
        first(1, { action: 'run', args: { command: 'ls', thought: 'I list.' } }),
        first(2, { observation: 'run', cause: 1, content: 'a' }),
      ]),
    )
    expect(linesOf(items)).toEqual(['1.0 assistant: I list. +event-1', '2.0 tool: a =event-1'])
  })

  it('keeps the thought, the text and the usage of answers that are recorded in part', () => {
    const unnamed = { ...model('', 'Both.', 'c1', 'c2'), id: undefined }
    const listed = { ...unnamed, id: 'r2', choices: [{ message: { content: [{ type: 'text', text: 'Listed.' }] } }] }
    const run = (number: number, callId: string, response: object, thought?: string): Fields =>
      first(number, {
        action: 'run',
        args: { command: callId, ...(thought === undefined ? {} : { thought }) },
        ...metadata(callId, response),
      })
    const items = itemsFrom(
      read(),
      asFile([run(1, 'c1', unnamed), run(2, 'c2', unnamed), run(3, 'c3', listed), run(4, 'c4', {}, 'I think.')]),
    )
    expect(linesOf(items)).toEqual([
      '1.0 assistant: Both. +c1',
      '2.0 assistant: null +c2',
      '3.0 assistant: Listed. +c3',
      '4.0 assistant: I think. +c4',
    ])
    const [one, two, , four] = ofKind(items, 'message')
    expect(one?.answerId).toBeDefined()
    expect(two?.answerId).toBe(one?.answerId)
    expect(four?.body.toolCalls?.[0]?.function?.arguments).toBe('{"command":"c4"}')
  })

  it('keeps contents that are no texts, and the images of observations', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }
    const items = itemsFrom(
      read(),
      asFile([
        first(1, { source: 'user', action: 'message', args: { content: [{ type: 'text', text: 'go' }] } }),
        first(2, { action: 'run', args: { command: 'ls' } }),
        first(3, { observation: 'run', cause: 2, content: { files: 2 } }),
        first(4, { action: 'browse', args: { url: 'u' } }),
        first(5, { observation: 'browse', cause: 4, content: 'seen', extras: { image_urls: [image.image_url.url] } }),
      ]),
    )
    expect(linesOf(items)).toEqual([
      '1.0 user: go',
      '2.0 assistant: null +event-2',
      '3.0 tool: {"files":2} =event-2',
      '4.0 assistant: null +event-4',
      `5.0 tool: ${JSON.stringify([{ type: 'text', text: 'seen' }, image])} =event-4`,
    ])
  })

  it('has all events if their numbers begin again, and forgets none for a reversed range', () => {
    const said = (id: number, content: string): Fields =>
      first(id, { source: 'user', action: 'message', args: { content } })
    const forget = (id: number, from: number, to: number): Fields =>
      first(id, { action: 'condensation', args: { forgotten_events_start_id: from, forgotten_events_end_id: to } })
    const items = itemsFrom(
      read(),
      asFile([
        said(0, 'one'),
        said(1, 'two'),
        said(1, 'two'),
        said(0, 'three'),
        said(1, 'four'),
        forget(2, 1, 0),
        forget(3, 0, 0),
      ]),
    )
    expect(linesOf(items)).toEqual(['0.0 user: one', '1.0 user: two', '0.2.0 user: three', '1.2.0 user: four'])
    expect(contexts(items)).toEqual([['0', '1', '0.2', '1.2'].map(entry), ['0', '1', '1.2'].map(entry)])
  })

  it('condenses by ids or by a range, and shows only the latest summary', () => {
    const condensed = (id: number, args: object): Fields => first(id, { action: 'condensation', args })
    const items = itemsFrom(
      read(),
      asFile([
        ...list,
        condensed(11, { forgotten_event_ids: [3, 4], summary: 'first', summary_offset: 2 }),
        condensed(12, {
          forgotten_events_start_id: 5,
          forgotten_events_end_id: 9,
          summary: 'second',
          summary_offset: 3,
        }),
      ]),
    )
    const inserted = (content: string): object => ({
      kind: 'inserted',
      body: { role: 'user', content },
      isSummary: true,
    })
    expect(contexts(items)).toEqual([
      [entry('0'), entry('1'), inserted('first'), ...['2', '5', '6', '8', '9', '10'].map(entry)],
      [entry('0'), entry('1'), entry('2'), inserted('second'), entry('10')],
    ])
  })

  it('has an id that depends on its first event, and not on its file name', () => {
    const idIn = (file: string): unknown => ofKind(itemsFrom(read(), asFile(list, file)), 'conversation')[0]?.sourceId
    expect(idIn('/a/trajectory.json')).toBe(idIn('/b/other.json'))
    expect(idIn('/a/trajectory.json')).not.toBe(
      ofKind(itemsFrom(read(), asFile(list.slice(1))), 'conversation')[0]?.sourceId,
    )
  })

  it('is recognized, even if it is too large to parse', () => {
    const head = { path: '/home/somebody/t.json', records: [list], text: JSON.stringify(list) }
    expect(openhands.recognize(head)).toBe('json')
    expect(openhands.recognize({ ...head, records: [] })).toBe('json')
    expect(openhands.recognize({ ...head, records: [[{ role: 'user', content: 'hi' }]], text: '[' })).toBeUndefined()
  })
})

describe('recognition', () => {
  it('accepts lines of events, and rejects those of other programs', () => {
    const path = '/home/somebody/events.jsonl'
    expect(openhands.recognize({ path, records: [user('e1', 'a'), user('e2', 'b')], text: '' })).toBe('lines')
    expect(openhands.recognize({ path, records: [user('e1', 'a')], text: '' })).toBe('lines')
    expect(openhands.recognize({ path, records: [{ kind: 'x', id: 'y' }], text: '' })).toBeUndefined()
    expect(openhands.recognize({ path, records: [], text: '' })).toBeUndefined()
  })

  it('searches the program’s directories', () => {
    expect(openhands.homes({ OPENHANDS_CONVERSATIONS_DIR: '/c' }, '/home/somebody')).toEqual([
      '/c',
      join('/home/somebody', '.openhands', 'conversations'),
      join('/home/somebody', '.openhands', 'sessions'),
    ])
  })
})

describe('any events', () => {
  const ids = fc.constantFrom('e0', 'e1', 'e2', 'e3', 'e4', 'e5', 'e5-summary', 'gone')
  const anyEvent = fc.oneof(
    fc.record({ said: fc.string() }).map(
      ({ said }) =>
        (id: string) =>
          user(id, said),
    ),
    fc.constant((id: string) => action(id, `c-${id}`)),
    fc.record({ of: ids }).map(
      ({ of }) =>
        (id: string) =>
          observation(id, `c-${of}`, 'x'),
    ),
    fc.record({ forgotten: fc.array(ids), summary: fc.option(fc.string()), summary_offset: fc.nat({ max: 9 }) }).map(
      ({ forgotten, ...over }) =>
        (id: string) =>
          condensation(id, forgotten, over),
    ),
    fc.constant((id: string) => event('PauseEvent', id)),
  )
  const tree = fc
    .array(fc.record({ make: anyEvent, parent: fc.option(fc.nat({ max: 12 })) }), { maxLength: 12 })
    .map((list) =>
      list.map(({ make, parent }, at): Fields & { readonly parent_id?: string } => ({
        ...make(`e${String(at)}`),
        timestamp: `2026-06-16T05:39:18.8${String(at).padStart(5, '0')}`,
        ...(parent === null ? {} : { parent_id: parent < at ? `e${String(parent)}` : '__root__' }),
      })),
    )

  it('satisfy the rules for all transcripts', () => {
    fc.assert(
      fc.property(tree, (events) => {
        expect(violationsOf(read, asLines(events))).toEqual([])
      }),
    )
  })

  it('end with the branch of the last event live, as the program computes it', () => {
    fc.assert(
      fc.property(tree, (events) => {
        const branch: string[] = []
        let at = events.length - 1
        while (at >= 0) {
          branch.unshift(`e${String(at)}`)
          const parent: string | undefined = events[at]?.parent_id
          at = parent === '__root__' ? -1 : parent === undefined ? at - 1 : Number(parent.slice(1))
        }
        const live: string[] = []
        for (const item of itemsWithoutEnd(read(), asLines(events))) {
          if (item.kind === 'message') live.push(item.sourceId)
          if (item.kind !== 'withdrawal') continue
          for (const id of item.sourceIds) live.splice(live.indexOf(id), 1)
        }
        const emitted = new Set(
          ofKind(itemsWithoutEnd(read(), asLines(events)), 'message').map(({ sourceId }) => sourceId),
        )
        expect(live).toEqual(branch.filter((id) => emitted.has(id)))
      }),
    )
  })

  it('never throw, for any JSON', () => {
    const values = fc.oneof(
      fc.jsonValue(),
      fc.record({
        kind: fc.constantFrom(
          'ActionEvent',
          'MessageEvent',
          'ObservationEvent',
          'Condensation',
          'SystemPromptEvent',
          'X',
        ),
        id: fc.jsonValue(),
        llm_message: fc.record({ role: fc.constantFrom('user', 'assistant', 'tool'), content: fc.jsonValue() }),
        observation: fc.jsonValue(),
        tool_call: fc.jsonValue(),
        tool_call_id: fc.constantFrom('c', undefined),
        thought: fc.jsonValue(),
        forgotten_event_ids: fc.jsonValue(),
        summary: fc.jsonValue(),
      }),
      fc.record({
        id: fc.nat(),
        action: fc.constantFrom('run', 'message', 'condensation'),
        source: fc.constantFrom('user', 'agent'),
        args: fc.jsonValue(),
        tool_call_metadata: fc.jsonValue(),
      }),
    )
    fc.assert(
      fc.property(fc.array(values, { maxLength: 6 }), (list) => {
        expect(refusedIn(itemsFrom(read(), asLines(list)))).toEqual([])
      }),
    )
  })
})
