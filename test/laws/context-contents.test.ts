/**
 * Every context contains the pinned messages and the newest message, and lists what it shortens. Tested with
 * conversations that strain the window: 150 messages in one append, twelve calls in one message, late or missing results,
 * files, pins that are added and removed, and a summarizer that is down without a fallback.
 */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Context } from '../../src/domain/compaction/context.js'
import type { Conversation } from '../../src/domain/conversation/conversation.js'
import type { LiveMessage } from '../../src/domain/conversation/live-message.js'
import { callGroups } from '../../src/domain/conversation/call-groups.js'
import { contentText, toChatMessage, type ChatMessage, type MessageInput } from '../../src/domain/values/message.js'
import { hardLimit } from '../../src/domain/values/policy.js'
import { defaultEstimator, messageTokens } from '../../src/domain/values/tokens.js'
import { problemsOfEveryApi } from '../support/chat-validity.js'
import { contextIn, createHarness, createScriptedSummarizer, messageOf } from '../support/harness.js'
import { isLong, runsOf } from '../support/length.js'

type Say = {
  readonly op: 'say'
  readonly role: 'user' | 'assistant'
  readonly words: number
  readonly file: number
  readonly pinned: boolean
}
type Call = {
  readonly op: 'call'
  readonly args: readonly number[]
  readonly results: readonly (number | undefined)[]
  readonly pinned: number | undefined
}
type Late = { readonly op: 'late'; readonly which: number; readonly words: number }
type Step =
  | { readonly step: 'append'; readonly ops: readonly (Say | Call | Late)[] }
  | { readonly step: 'pin'; readonly which: number; readonly pinned: boolean }
  | { readonly step: 'compact'; readonly down: boolean }

const sizes = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 60 }) },
  { weight: 3, arbitrary: fc.integer({ min: 60, max: 600 }) },
  { weight: 1, arbitrary: fc.integer({ min: 600, max: 6_000 }) },
)
const say: fc.Arbitrary<Say> = fc.record({
  op: fc.constant('say'),
  role: fc.constantFrom('user', 'assistant'),
  words: sizes,
  // Kilobytes of a file in the same message; 0 for none.
  file: fc.oneof({ weight: 12, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constantFrom(1, 60, 120, 400) }),
  pinned: fc.integer({ min: 0, max: 14 }).map((die) => die === 0),
})
const call: fc.Arbitrary<Call> = fc
  .oneof({ weight: 6, arbitrary: fc.integer({ min: 1, max: 3 }) }, { weight: 1, arbitrary: fc.constant(12) })
  .chain((count) =>
    fc.record({
      op: fc.constant('call'),
      args: fc.array(
        fc.oneof(
          { weight: 5, arbitrary: fc.integer({ min: 0, max: 20 }) },
          { weight: 1, arbitrary: fc.integer({ min: 20, max: 1_500 }) },
        ),
        { minLength: count, maxLength: count },
      ),
      results: fc.array(fc.option(sizes, { freq: 6, nil: undefined }), { minLength: count, maxLength: count }),
      // Index of the pinned message; 0 is the call.
      pinned: fc.option(fc.nat(count), { freq: 6, nil: undefined }).map((at) => (at === undefined ? undefined : at)),
    }),
  )
const late: fc.Arbitrary<Late> = fc.record({ op: fc.constant('late'), which: fc.nat(30), words: sizes })
const ops = fc.oneof({ weight: 6, arbitrary: say }, { weight: 3, arbitrary: call }, { weight: 2, arbitrary: late })
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        step: fc.constant('append' as const),
        ops: fc.array(ops, { minLength: 1, maxLength: 6 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        step: fc.constant('append' as const),
        ops: fc.array(ops, { minLength: 60, maxLength: 150, size: 'max' }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        step: fc.constant('pin' as const),
        which: fc.nat(1_000),
        pinned: fc.integer({ min: 0, max: 3 }).map((die) => die > 0),
      }),
    },
    { weight: 3, arbitrary: fc.record({ step: fc.constant('compact' as const), down: fc.boolean() }) },
  ),
  { minLength: 2, maxLength: 24 },
)

const WORDS = ['berth', 'tide', 'pilot', 'crane', 'invoice', 'harbour', 'draft', 'quay', '決定', 'mooring']
const prose = (words: number, from: number): string =>
  Array.from({ length: words }, (_, at) => WORDS[(at * 7 + from) % WORDS.length] ?? '').join(' ')

/** Converts operations to messages with unique ids. Skips a late result if no call is open. */
class Host {
  private count = 0
  private open: string[] = []

  private next(): string {
    this.count += 1
    return `m${String(this.count)}`
  }

  messages(list: readonly (Say | Call | Late)[]): MessageInput[] {
    return list.flatMap((op): MessageInput[] => {
      const id = this.next()
      if (op.op === 'say') {
        const text = prose(op.words, this.count)
        const data = op.file === 0 ? '' : `data:application/pdf;base64,${'QUJDRA9x'.repeat(op.file * 170)}`
        return [
          {
            id,
            role: op.role,
            content:
              op.file === 0
                ? text
                : [
                    { type: 'text', text },
                    { type: 'file', file: { filename: 'report.pdf', file_data: data } },
                  ],
            ...(op.pinned ? { pinned: true } : {}),
          },
        ]
      }
      if (op.op === 'late') {
        const callId = this.open[op.which % Math.max(1, this.open.length)]
        if (callId === undefined) return []
        this.open = this.open.filter((openId) => openId !== callId)
        return [{ id, role: 'tool', tool_call_id: callId, content: prose(op.words, this.count) }]
      }
      const ids = op.args.map((_words, at) => `call_${String(this.count)}_${String(at)}`)
      const pinned = (at: number): { pinned?: boolean } => (op.pinned === at ? { pinned: true } : {})
      const calls: MessageInput = {
        id,
        role: 'assistant',
        content: null,
        ...pinned(0),
        tool_calls: ids.map((callId, at) => ({
          id: callId,
          type: 'function',
          function: {
            name: 'run',
            arguments: JSON.stringify({ path: 'src/berth.ts', text: prose(op.args[at] ?? 0, at) }),
          },
        })),
      }
      const results = ids.flatMap((callId, at): MessageInput[] => {
        const words = op.results[at]
        if (words !== undefined)
          return [{ id: this.next(), role: 'tool', tool_call_id: callId, content: prose(words, at), ...pinned(at + 1) }]
        this.open = [...this.open, callId]
        return []
      })
      return [calls, ...results]
    })
  }
}

const liveOf = (state: Conversation): LiveMessage[] => [...state.retained, ...state.window]

/** Whether a message is shown unshortened. A result whose call was compacted becomes a user message with the same text. */
function isWhole(message: LiveMessage, shown: ChatMessage | undefined): boolean {
  if (shown === undefined) return false
  if (message.role === 'tool' && shown.role === 'user')
    return (
      typeof shown.content === 'string' &&
      shown.content.endsWith(contentText(message.content)) &&
      shown.content.startsWith('[late result of')
    )
  return JSON.stringify(shown) === JSON.stringify(toChatMessage(message))
}

/** Whether the newest message with its group certainly fits together with leading and pinned messages and their groups. */
function surelyFits(state: Conversation, newest: LiveMessage, hard: number): boolean {
  const live = liveOf(state)
  const groups = callGroups(live).groups.map((group) => [group.call, ...group.results].flatMap((at) => live[at] ?? []))
  const groupOf = (message: LiveMessage): readonly LiveMessage[] =>
    groups.find((group) => group.includes(message)) ?? [message]
  const needed = new Set([...live.filter(({ pinned }) => pinned), newest].flatMap(groupOf))
  // Placeholders and the names of compacted calls need further tokens.
  const extra = 30 * (1 + [...needed].reduce((sum, message) => sum + (message.toolCalls?.length ?? 0), 0))
  return [...state.leading, ...needed].reduce((sum, message) => sum + message.tokens, extra) <= hard
}

/** All faults of a context. */
function problemsOf(state: Conversation, context: Context, newestId: string | undefined): string[] {
  const hard = hardLimit(
    state.configuration?.policy ?? { modelMaxTokens: 0, systemReserve: 0, outputReserve: 0, safetyBuffer: 0 },
  )
  const problems = problemsOfEveryApi(context.messages)
  const counted = context.messages.reduce(
    (sum, { content, ...message }) =>
      sum + messageTokens(messageOf({ ...message, content: content ?? '' }), defaultEstimator),
    0,
  )
  if (context.tokens > hard) problems.push(`has ${String(context.tokens)} tokens, but the limit is ${String(hard)}`)
  if (counted !== context.tokens) problems.push(`reports ${String(context.tokens)} tokens, but has ${String(counted)}`)
  const indexes = new Map(context.messageIds.map((id, index) => [id, index]))
  const reported = new Map(context.shortened?.map(({ id, how }) => [id, how]))
  for (const message of liveOf(state)) {
    const index = indexes.get(message.messageId)
    const whole = isWhole(message, index === undefined ? undefined : context.messages[index])
    if (message.pinned && !whole)
      problems.push(`the pinned message ${message.messageId} is ${index === undefined ? 'omitted' : 'changed'}`)
    const how = whole ? undefined : index === undefined ? 'left-out' : 'shortened'
    if (reported.get(message.messageId) !== how)
      problems.push(
        `message ${message.messageId} is ${how ?? 'whole'}, but reported as ${reported.get(message.messageId) ?? 'whole'}`,
      )
    if (message.messageId === newestId) {
      if (index === undefined) problems.push(`the newest message ${newestId} is omitted`)
      else if (!whole && surelyFits(state, message, hard))
        problems.push(`the newest message ${newestId} fits, but is shortened`)
    }
  }
  const view = context.viewAt === undefined ? '' : contentText(context.messages[context.viewAt]?.content)
  if (state.view !== undefined && view === '' && reported.get('view') !== 'left-out')
    problems.push('the view is omitted without a report')
  for (const part of state.view?.parts ?? [])
    if (part.kind === 'batch' && !view.includes(part.text) && !reported.has(part.batchId))
      problems.push(`batch ${part.batchId} is shortened without a report`)
  return problems
}

describe('pinned messages, the newest message and the report of shortened ones are correct', () => {
  it.each(isLong ? [2_000, 4_000, 8_000] : [2_000])(
    'in every context with a window of %i tokens',
    async (modelMaxTokens) => {
      await fc.assert(
        fc.asyncProperty(
          steps,
          fc.constantFrom('extractive', 'none'),
          fc.constantFrom('clip-archive', 'session-summary', 'working-state'),
          fc.boolean(),
          async (list, fallback, view, leads) => {
            const summarizer = createScriptedSummarizer({ verbose: true })
            const harness = createHarness({
              policy: {
                modelMaxTokens,
                fallback,
                view,
                chunkSize: 4,
                chunkMinTokens: 0,
                keepRecent: 3,
                maxSummaryTokens: 60,
              },
              summarizer,
            })
            const host = new Host()
            let newestId: string | undefined
            const problems: string[] = []
            if (leads) await harness.appended({ id: 'system', role: 'system', content: prose(40, 3) })
            for (const step of list) {
              if (step.step === 'append') {
                const messages = host.messages(step.ops)
                const result = await harness.append(messages)
                // An append is rejected if its pins exceed a quarter of the limit; then it is repeated without pins.
                if (result._tag === 'Left')
                  await harness.appended(messages.map(({ pinned: _pinned, ...message }) => message))
                newestId = messages.at(-1)?.id ?? newestId
              } else if (step.step === 'pin') {
                const live = liveOf(await harness.conversations.load('c1'))
                const message = live[step.which % Math.max(1, live.length)]
                if (message !== undefined) await harness.pin(message.messageId, step.pinned)
              } else {
                summarizer.answer = () => (step.down ? { failure: 'unreachable' } : undefined)
                await harness.compact('due')
              }
              const state = await harness.conversations.load('c1')
              if (state.configuration !== undefined) problems.push(...problemsOf(state, contextIn(state), newestId))
            }
            expect(problems).toEqual([])
          },
        ),
        // The full number of runs, 25 and more, takes minutes on a busy machine.
        { numRuns: runsOf(8) },
      )
    },
  )
})
