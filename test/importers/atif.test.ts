/** ATIF: exported conversations read back equal, and what the format does not allow is rejected. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { either as E } from 'fp-ts'
import { bodyOf } from '../../src/domain/values/message.js'
import { parseMessage } from '../../src/domain/values/parse-message.js'
import { atif } from '../../src/application/importers/atif.js'
import { atifSchema, type AtifTrajectory } from '../../src/application/importers/atif-schema.js'
import { trajectoryOf, type RecordedMessage } from '../../src/application/importers/atif-writer.js'
import { plainContentId } from '../../src/application/importers/content-id.js'
import type { MessageItem, TranscriptItem } from '../../src/application/importers/transcript.js'
import { exactText } from '../../src/lib/json.js'
import { histories } from '../support/arbitraries.js'

const AT = '2026-03-01T10:00:00.000Z'

const read = (value: unknown): TranscriptItem[] => [
  ...atif.read('/runs/trajectory.json', plainContentId).take({ value, where: { file: '/runs/trajectory.json' } }),
]
const messagesIn = (items: readonly TranscriptItem[]): MessageItem[] => items.filter((item) => item.kind === 'message')

const exported = (messages: readonly RecordedMessage[]): AtifTrajectory =>
  trajectoryOf({
    conversationId: 'run-7',
    agent: { name: 'codex', version: '0.171.0' },
    title: 'date bug',
    cwd: '/srv/harbour',
    messages,
  })

/** The messages of a file, as a ledger records them. */
const recordedAgain = (items: readonly MessageItem[]): RecordedMessage[] =>
  items.map(({ body, sourceId, at = '', byProgram, isError, exitCode, answerId, model, usage }) => ({
    ...body,
    messageId: sourceId,
    createdAt: at,
    attributes: { byProgram, isError, exitCode, answerId, model, usage },
  }))

const call = (id: string, name: string, input: string): RecordedMessage => ({
  messageId: `of-${id}`,
  createdAt: AT,
  role: 'assistant',
  content: [
    { type: 'thinking', thinking: 'First the list.', signature: 'c2ln' },
    { type: 'text', text: 'I look.' },
  ],
  toolCalls: [{ id, type: 'function', function: { name, arguments: input } }],
  attributes: { model: 'gpt-5.2', usage: { inputTokens: 90, outputTokens: 4, cacheReadTokens: 80 } },
})

describe('an exported conversation', () => {
  it('is ATIF: results are in the step of their call, and counts are metrics', () => {
    const trajectory = exported([
      { messageId: 'm1', createdAt: AT, role: 'user', content: 'Which files are there?' },
      call('c1', 'exec_command', '{"cmd":"ls"}'),
      { messageId: 'm3', createdAt: AT, role: 'tool', toolCallId: 'c1', content: 'notes.txt' },
    ])
    expect(atifSchema.parse(trajectory)).toEqual(trajectory)
    expect(trajectory).toMatchObject({
      schema_version: 'ATIF-v1.7',
      agent: { name: 'codex', version: '0.171.0' },
      steps: [
        { step_id: 1, source: 'user', message: 'Which files are there?' },
        {
          step_id: 2,
          source: 'agent',
          model_name: 'gpt-5.2',
          reasoning_content: 'First the list.',
          message: [{ type: 'text', text: 'I look.' }],
          tool_calls: [{ tool_call_id: 'c1', function_name: 'exec_command', arguments: { cmd: 'ls' } }],
          observation: { results: [{ source_call_id: 'c1', content: 'notes.txt' }] },
          metrics: { prompt_tokens: 90, completion_tokens: 4, cached_tokens: 80 },
        },
      ],
      final_metrics: { total_prompt_tokens: 90, total_steps: 2 },
    })
  })

  it('counts the usage of an answer once that a program wrote in several records', () => {
    const part = (id: string, answerId: string, outputTokens: number): RecordedMessage => ({
      ...call(id, 'exec_command', '{}'),
      messageId: id,
      attributes: { answerId, usage: { inputTokens: 90, outputTokens, cacheReadTokens: 80 } },
    })
    const { final_metrics } = exported([part('a', 'r1', 4), part('b', 'r1', 9), part('c', 'r2', 5)])
    expect(final_metrics).toMatchObject({
      total_prompt_tokens: 180,
      total_completion_tokens: 14,
      total_cached_tokens: 160,
      total_steps: 3,
    })
  })

  it('reads back equal, whatever was said, and is exported again as the same document', () => {
    let messages = 0
    fc.assert(
      fc.property(histories(30), (history) => {
        const recorded = history.flatMap((input, at): RecordedMessage[] => {
          const { id: _id, ...rest } = input
          const parsed = parseMessage(rest)
          return E.isLeft(parsed)
            ? []
            : [
                {
                  ...bodyOf(parsed.right),
                  messageId: `m${String(at)}`,
                  createdAt: AT,
                  attributes: { byProgram: at % 5 === 0 || undefined },
                },
              ]
        })
        if (recorded.length === 0) return
        const text = exactText(exported(recorded)) ?? ''
        const value: unknown = JSON.parse(text)
        expect(atifSchema.safeParse(value).error?.issues ?? []).toEqual([])
        const items = messagesIn(read(value))
        expect(items.map(({ body }) => bodyOf(body))).toEqual(recorded.map(bodyOf))
        expect(items.map(({ sourceId }) => sourceId)).toEqual(recorded.map(({ messageId }) => messageId))
        expect(exactText(exported(recordedAgain(items)))).toBe(text)
        messages += items.length
      }),
      { numRuns: 25 },
    )
    expect(messages).toBeGreaterThan(100)
  })
})

describe('a file of another program', () => {
  const agent = { name: 'terminus', version: '2.0.0' }
  const file = (steps: readonly unknown[], rest: object = {}): object => ({
    schema_version: 'ATIF-v1.7',
    session_id: 'trial-9',
    agent,
    steps,
    ...rest,
  })
  const agentStep = {
    step_id: 2,
    timestamp: AT,
    source: 'agent',
    message: '',
    tool_calls: [{ tool_call_id: 'c1', function_name: 'bash', arguments: { command: 'ls' } }],
    observation: { results: [{ source_call_id: 'c1', content: 'notes.txt' }, { content: '$ ' }] },
  }
  const userStep = { step_id: 1, source: 'user', message: 'Go.' }

  it('is read: calls, results, and text of the environment', () => {
    const items = read(file([userStep, agentStep]))
    expect(items[0]).toMatchObject({ kind: 'conversation', sourceId: 'trial-9', programVersion: '2.0.0' })
    expect(messagesIn(items)).toMatchObject([
      { sourceId: 'step-1', body: { role: 'user', content: 'Go.' } },
      { sourceId: 'step-2', part: 0, at: AT, body: { role: 'assistant', toolCalls: [{ id: 'c1' }] } },
      { sourceId: 'step-2', part: 1, body: { role: 'tool', toolCallId: 'c1', content: 'notes.txt' } },
      { sourceId: 'step-2', part: 2, byProgram: true, body: { role: 'user', content: '$ ' } },
    ])
  })

  it('has its sub-agents as conversations of their own', () => {
    const inner = { schema_version: 'ATIF-v1.7', trajectory_id: 'search-1', agent, steps: [userStep] }
    const items = read(file([userStep], { subagent_trajectories: [inner] }))
    expect(items.filter(({ kind }) => kind === 'conversation')).toMatchObject([
      { sourceId: 'trial-9' },
      { sourceId: 'search-1', parent: { sourceId: 'trial-9', how: 'sub-agent' } },
    ])
  })

  it.each([
    ['another version', { ...file([userStep]), schema_version: 'ATIF-v9.0' }],
    ['no step', file([])],
    ['a gap in the numbers', file([userStep, { ...agentStep, step_id: 3 }])],
    ['a result without its call in the step', file([{ ...agentStep, step_id: 1, tool_calls: [] }])],
    ['a model of the user', file([{ ...userStep, model_name: 'gpt-5.2' }])],
    [
      'counts without a call of a model',
      file([{ step_id: 1, source: 'agent', message: 'a', llm_call_count: 0, metrics: {} }]),
    ],
    ['a field that ATIF does not have', file([{ ...userStep, mood: 'good' }])],
    ['a time that is none', file([{ ...userStep, timestamp: 'Tuesday' }])],
    ['an agent without a version', { ...file([userStep]), agent: { name: 'a' } }],
    ['a sub-agent without a name', file([userStep], { subagent_trajectories: [file([userStep])] })],
  ])('with %s is reported as damaged', (_what, value) => {
    expect(read(value)).toMatchObject([{ kind: 'damage', detail: expect.stringContaining('is not ATIF-v1.7') }])
  })
})
