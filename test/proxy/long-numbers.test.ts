/** A number that no double holds goes upstream, comes back and is recorded with every digit that it has. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openLedger, type Ledger } from '../../src/index.js'
import { startProxy, type ProxyServer } from '../../src/interfaces/proxy/server.js'
import { isLong } from '../support/length.js'
import { startUpstream, type UpstreamAnswer, type UpstreamStub } from '../support/upstream-stub.js'

const LONG = '12345678901234567891'
const MOST = '18446744073709551615'
/** What a double makes of them. */
const ROUNDED = /12345678901234567000|12345678901234567168|18446744073709552000/u
const ARGUMENTS = `{"id":${LONG}}`
const SCHEMA = `{"type":"object","properties":{"id":{"type":"integer","maximum":${MOST}}}}`

/** An API, as texts: no double of this test's own comes near a number. */
interface Dialect {
  readonly path: string
  /** A request with these elements of its list. */
  request(elements: readonly string[], isStream: boolean): string
  readonly question: string
  /** The elements that say the answer once more, and the result of its call. */
  readonly answered: readonly string[]
  readonly whole: string
  readonly events: readonly object[]
}

const message = (role: string, content: string): string => `{"role":"${role}","content":${content}}`
const QUOTED = JSON.stringify(ARGUMENTS)

const DIALECTS: Readonly<Record<string, Dialect>> = {
  'chat completions': {
    path: '/v1/chat/completions',
    request: (elements, isStream) =>
      `{"model":"m","stream":${String(isStream)},"seed":${LONG},"tools":[{"type":"function","function":{"name":"f","parameters":${SCHEMA}}}],"messages":[${elements.join(',')}]}`,
    question: message('user', '"who is it?"'),
    answered: [
      `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":${QUOTED}}}]}`,
      `{"role":"tool","tool_call_id":"c","content":[{"type":"x_number","number":${LONG}}]}`,
    ],
    whole: `{"id":"x","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":${QUOTED}}}]}}]}`,
    events: [
      {
        id: 'x',
        choices: [
          {
            index: 0,
            delta: {
              role: 'assistant',
              tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: ARGUMENTS } }],
            },
          },
        ],
      },
      { id: 'x', choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
    ],
  },
  messages: {
    path: '/v1/messages',
    request: (elements, isStream) =>
      `{"model":"m","max_tokens":9,"stream":${String(isStream)},"metadata":{"user":${LONG}},"tools":[{"name":"f","input_schema":${SCHEMA}}],"messages":[${elements.join(',')}]}`,
    question: message('user', '"who is it?"'),
    answered: [
      message('assistant', `[{"type":"tool_use","id":"c","name":"f","input":${ARGUMENTS}}]`),
      message('user', `[{"type":"tool_result","tool_use_id":"c","content":[{"type":"x_number","number":${LONG}}]}]`),
    ],
    whole: `{"id":"x","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","content":[{"type":"tool_use","id":"c","name":"f","input":${ARGUMENTS}}]}`,
    events: [
      { type: 'message_start', message: { id: 'x', type: 'message', role: 'assistant', model: 'm', content: [] } },
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'c', name: 'f', input: {} } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: ARGUMENTS } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
      { type: 'message_stop' },
    ],
  },
  responses: {
    path: '/v1/responses',
    request: (elements, isStream) =>
      `{"model":"m","stream":${String(isStream)},"tools":[{"type":"function","name":"f","parameters":${SCHEMA}}],"input":[${elements.join(',')}]}`,
    question: message('user', '"who is it?"'),
    answered: [
      `{"type":"function_call","call_id":"c","name":"f","arguments":${QUOTED}}`,
      `{"type":"function_call_output","call_id":"c","output":[{"type":"x_number","number":${LONG}}]}`,
    ],
    whole: `{"id":"x","object":"response","status":"completed","model":"m","output":[{"type":"function_call","call_id":"c","name":"f","arguments":${QUOTED}}]}`,
    events: [
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { type: 'function_call', call_id: 'c', name: 'f', arguments: ARGUMENTS },
      },
      {
        type: 'response.completed',
        response: {
          id: 'x',
          object: 'response',
          status: 'completed',
          output: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: ARGUMENTS }],
        },
      },
    ],
  },
}

/** @param id of the call */
const answerOf = ({ whole, events }: Dialect, isStream: boolean, id: string): UpstreamAnswer =>
  isStream
    ? {
        chunks: [...events.map((event) => JSON.stringify(event).replaceAll('"c"', `"${id}"`)), '[DONE]'].map(
          (data) => `data: ${data}\n\n`,
        ),
      }
    : { chunks: [whole.replaceAll('"c"', `"${id}"`)], headers: { 'content-type': 'application/json' } }

let upstream: UpstreamStub
let ledger: Ledger
beforeAll(async () => {
  upstream = await startUpstream()
  ledger = await openLedger({ store: 'memory' })
})
afterAll(async () => {
  await upstream.close()
  await ledger.close()
})

/** Each mode with and without streaming. The dialects in between try the other half. */
const MODES = [
  ['observe', false],
  ['observe', true],
  ['compact', true],
  ['compact', false],
] as const

describe.each(Object.entries(DIALECTS).map(([name, dialect], at) => ({ name, dialect, at })))(
  '$name',
  ({ name, dialect, at }) => {
    it.each(MODES.filter((_mode, each) => isLong || each % 2 === at % 2))(
      '%s, streamed: %s',
      async (mode, isStream) => {
        const id = `${name} ${mode} ${String(isStream)}`
        const problems: unknown[] = []
        const start = async (): Promise<ProxyServer> =>
          await startProxy({
            ledger,
            upstream: upstream.url,
            port: 0,
            mode,
            headWaitMs: 5_000,
            onProblem: (problem) => problems.push(problem),
          })
        const ask = async (proxy: ProxyServer, elements: readonly string[], answer: UpstreamAnswer): Promise<void> => {
          upstream.answerWith(answer)
          const sent = dialect.request(elements, isStream)
          const response = await fetch(`${proxy.url}${dialect.path}`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'x-context-ledger-conversation': id },
            body: sent,
          })
          expect([response.status, response.headers.get('x-context-ledger')]).toEqual([200, 'recorded'])
          expect(await response.text()).not.toMatch(ROUNDED)
          await proxy.settled()
          // Every number went upstream as the client sent it, in whatever order its fields stand.
          const went = upstream.calls.at(-1)?.text ?? ''
          expect(went).not.toMatch(ROUNDED)
          const digits = (text: string): string[] => text.match(/\d{20}/gu)?.toSorted() ?? []
          expect(digits(went)).toEqual(digits(sent))
        }
        const { question, answered } = dialect
        const first = await start()
        await ask(first, [question], answerOf(dialect, isStream, 'c'))
        await ask(first, [question, ...answered], answerOf(dialect, isStream, 'd'))
        await first.close(100)
        // A proxy that was just started knows the list by what is recorded.
        const second = await start()
        const followUp = message('user', '"and now?"')
        await ask(second, [question, ...answered, ...answered.map((each) => each.replaceAll('"c"', '"d"')), followUp], {
          status: 200,
          json: {},
        })
        await second.close(100)

        const recorded: string[] = []
        let stored = ''
        for await (const event of ledger.log(id)) {
          stored += JSON.stringify(event.data)
          if (event.type === 'MessageAppended') recorded.push(event.data.toolCalls?.[0]?.function?.arguments ?? '')
          else if (event.type === 'MessagesWithdrawn' || event.type === 'ContributionEdited') recorded.push(event.type)
        }
        expect(problems).toEqual([])
        expect(stored).toContain(MOST)
        expect(stored).not.toMatch(ROUNDED)
        expect(recorded.filter((each) => each !== '').slice(0, 2)).toEqual([ARGUMENTS, ARGUMENTS])
        expect(recorded.filter((each) => /^(?:Messages|Contribution)/u.test(each))).toEqual([])
      },
    )
  },
)
