/** Handwritten trajectories of mini-swe-agent, in the formats of its versions 1 and 2. */
import { plainContentId } from '../../src/application/importers/content-id.js'
import { describe, expect, it } from '@jest/globals'
import { miniSweAgent } from '../../src/application/importers/mini-swe-agent.js'
import { asFile, violationsOf, itemsFrom, linesOf, ofKind } from './reading.js'

const read = (): ReturnType<typeof miniSweAgent.read> => miniSweAgent.read('/home/somebody/a.traj.json', plainContentId)
const SECONDS = 1_790_000_000.25

const trajectory = (messages: readonly object[], format = 'mini-swe-agent-1.1'): object => ({
  info: {
    model_stats: { instance_cost: 0.02, api_calls: 2 },
    config: { model: { model_name: 'anthropic/some-model' }, environment: { cwd: '/testbed' } },
    mini_version: '2.2.8',
    exit_status: 'Submitted',
  },
  messages,
  trajectory_format: format,
})

const chat = trajectory([
  { role: 'system', content: 'You are a helpful assistant.' },
  { role: 'user', content: 'Fix the parser.' },
  {
    role: 'assistant',
    content: 'I look.',
    reasoning_content: 'ls will do',
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'bash', arguments: '{"command":"ls"}' } }],
    extra: {
      actions: [{ command: 'ls', tool_call_id: 'call_1' }],
      response: {
        model: 'some-model-2026',
        usage: { prompt_tokens: 90, completion_tokens: 12, prompt_tokens_details: { cached_tokens: 40 } },
      },
      cost: 0.0125,
      timestamp: SECONDS,
    },
  },
  {
    role: 'tool',
    tool_call_id: 'call_1',
    content: '<returncode>0</returncode>\n<output>\na.py</output>',
    extra: { raw_output: 'a.py', returncode: 0, timestamp: SECONDS + 1 },
  },
  { role: 'user', content: 'No tool calls found.', extra: { interrupt_type: 'FormatError' } },
  { role: 'user', content: 'Stop, use the other file.', extra: { interrupt_type: 'UserInterruption' } },
  { role: 'exit', content: 'diff --git a b', extra: { exit_status: 'Submitted', submission: 'diff --git a b' } },
])

describe('mini-swe-agent 1.1', () => {
  it('is recognized by its format; other chats are not', () => {
    const head = (value: unknown): Parameters<typeof miniSweAgent.recognize>[0] => ({
      path: '/a.json',
      records: [value],
      text: JSON.stringify(value).slice(0, 4_096),
    })
    expect(miniSweAgent.recognize(head(chat))).toBe('json')
    expect(miniSweAgent.recognize(head({ messages: [{ role: 'user', content: 'hi' }] }))).toBeUndefined()
  })

  it('is read completely, with the times, models and costs of its answers', () => {
    const items = itemsFrom(read(), asFile(chat))
    expect(linesOf(items)).toEqual([
      'messages[0].0 system: You are a helpful assistant.',
      'messages[1].0 user: Fix the parser.',
      'messages[2].0 assistant: [{"type":"reasoning","text":"ls will do"},{"type":"text","text":"I look."}] +call_1',
      'messages[3].0 tool (exit 0): <returncode>0</returncode>\n<output>\na.py</output> =call_1',
      'messages[4].0 user (program): No tool calls found.',
      'messages[5].0 user: Stop, use the other file.',
      'messages[6].0 user (program): Submitted\n\ndiff --git a b',
    ])
    const [, , answer, result] = ofKind(items, 'message')
    expect(answer).toMatchObject({
      at: new Date(SECONDS * 1_000).toISOString(),
      model: 'some-model-2026',
      usage: { inputTokens: 90, outputTokens: 12, cacheReadTokens: 40, cost: 0.0125 },
    })
    expect(result?.at).toBe(new Date((SECONDS + 1) * 1_000).toISOString())
    expect(ofKind(items, 'conversation')[0]).toMatchObject({ programVersion: '2.2.8', cwd: '/testbed' })
    expect(ofKind(items, 'left-out')).toEqual([])
    expect(violationsOf(read, asFile(chat))).toEqual([])
  })

  it('is read with items of the Responses API', () => {
    const items = itemsFrom(
      read(),
      asFile(
        trajectory([
          { role: 'system', content: 'system' },
          { role: 'user', content: 'task' },
          {
            object: 'response',
            model: 'gpt-x',
            created_at: 1_790_000_000,
            usage: { input_tokens: 100, output_tokens: 40, output_tokens_details: { reasoning_tokens: 30 } },
            output: [
              { type: 'message', content: [{ type: 'output_text', text: 'Now.' }] },
              { type: 'function_call', call_id: 'c1', name: 'bash', arguments: '{"command":"ls"}' },
            ],
            extra: { cost: 0.5 },
          },
          { type: 'function_call_output', call_id: 'c1', output: 'a.py', extra: { returncode: 0 } },
          {
            type: 'message',
            role: 'user',
            content: [{ type: 'input_text', text: 'try again' }],
            extra: { interrupt_type: 'FormatError' },
          },
        ]),
      ),
    )
    expect(linesOf(items).slice(2)).toEqual([
      'messages[2].0 assistant: Now. +c1',
      'messages[3].0 tool (exit 0): a.py =c1',
      'messages[4].0 user (program): try again',
    ])
    expect(ofKind(items, 'message')[2]?.usage).toEqual({
      inputTokens: 100,
      outputTokens: 40,
      reasoningTokens: 30,
      cost: 0.5,
    })
  })

  it('treats messages after the task as command output in version 1', () => {
    const old = trajectory(
      [
        { role: 'system', content: 's' },
        { role: 'user', content: 'task' },
        { role: 'assistant', content: '```bash\nls\n```' },
        { role: 'user', content: 'Observation: a.py' },
      ],
      'mini-swe-agent-1',
    )
    expect(linesOf(itemsFrom(read(), asFile(old))).at(-1)).toBe('messages[3].0 user (program): Observation: a.py')
  })
})
