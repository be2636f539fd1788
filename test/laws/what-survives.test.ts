/**
 * What must survive, survives: pinned messages, the newest message, and the truth about what is shown short. Over
 * conversations that are as hard on the window as hosts are: 150 messages in one append, twelve calls at once, results
 * that come late or never, files, pins that come and go, and a summarizer that is down with nobody to stand in.
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
import { chatProblems } from '../support/chat-validity.js'
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
  // Kilobytes of a file beside the text; 0 for none.
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
      // Which of its messages is pinned: 0 is the call.
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

/**
 * The messages of a list of operations, each with an id of its own; a late result for which no call is open is left
 * out.
 */
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
        this.open = this.open.filter((other) => other !== callId)
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

/**
 * The message as the context would have it whole. What answers a call that was folded is said by the user, its text
 * word for word.
 */
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

/** Whether the newest message surely fits beside leading and pinned ones: with its whole group, and theirs. */
function surelyFits(state: Conversation, newest: LiveMessage, hard: number): boolean {
  const live = liveOf(state)
  const groups = callGroups(live).groups.map((group) => [group.call, ...group.results].flatMap((at) => live[at] ?? []))
  const groupOf = (message: LiveMessage): readonly LiveMessage[] =>
    groups.find((group) => group.includes(message)) ?? [message]
  const needed = new Set([...live.filter(({ pinned }) => pinned), newest].flatMap(groupOf))
  // Placeholders and what names a folded call take some more.
  const extra = 30 * (1 + [...needed].reduce((sum, message) => sum + (message.toolCalls?.length ?? 0), 0))
  return [...state.leading, ...needed].reduce((sum, message) => sum + message.tokens, extra) <= hard
}

/** Everything that is wrong with a context that was handed out. */
function problemsOf(state: Conversation, context: Context, newestId: string | undefined): string[] {
  const hard = hardLimit(
    state.configuration?.policy ?? { modelMaxTokens: 0, systemReserve: 0, outputReserve: 0, safetyBuffer: 0 },
  )
  const problems = chatProblems(context.messages)
  const counted = context.messages.reduce(
    (sum, { content, ...message }) =>
      sum + messageTokens(messageOf({ ...message, content: content ?? '' }), defaultEstimator),
    0,
  )
  if (context.tokens > hard) problems.push(`has ${String(context.tokens)} tokens, and the limit is ${String(hard)}`)
  if (counted !== context.tokens) problems.push(`says ${String(context.tokens)} tokens, and has ${String(counted)}`)
  const at = new Map(context.messageIds.map((id, place) => [id, place]))
  const said = new Map(context.shortened?.map(({ id, how }) => [id, how]))
  for (const message of liveOf(state)) {
    const place = at.get(message.messageId)
    const whole = isWhole(message, place === undefined ? undefined : context.messages[place])
    if (message.pinned && !whole)
      problems.push(`the pinned message ${message.messageId} is ${place === undefined ? 'left out' : 'not as it was'}`)
    const how = whole ? undefined : place === undefined ? 'left-out' : 'shortened'
    if (said.get(message.messageId) !== how)
      problems.push(
        `message ${message.messageId} is ${how ?? 'whole'}, and said to be ${said.get(message.messageId) ?? 'whole'}`,
      )
    if (message.messageId === newestId) {
      if (place === undefined) problems.push(`the newest message ${newestId} is left out`)
      else if (!whole && surelyFits(state, message, hard))
        problems.push(`the newest message ${newestId} fits, and is not whole`)
    }
  }
  const view = context.viewAt === undefined ? '' : contentText(context.messages[context.viewAt]?.content)
  if (state.view !== undefined && view === '' && said.get('view') !== 'left-out')
    problems.push('the view is left out unsaid')
  for (const part of state.view?.parts ?? [])
    if (part.kind === 'batch' && !view.includes(part.text) && !said.has(part.batchId))
      problems.push(`batch ${part.batchId} is not whole, and nobody says so`)
  return problems
}

describe('what must survive, survives', () => {
  it.each(isLong ? [2_000, 4_000, 8_000] : [2_000])(
    'in every context of a window of %i tokens',
    async (modelMaxTokens) => {
      await fc.assert(
        fc.asyncProperty(
          steps,
          fc.constantFrom('extractive', 'none'),
          fc.constantFrom('clip-archive', 'session-summary'),
          fc.boolean(),
          async (list, standIn, view, leads) => {
            const summarizer = createScriptedSummarizer({ verbose: true })
            const harness = createHarness({
              policy: {
                modelMaxTokens,
                standIn,
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
                const done = await harness.append(messages)
                // A pin beyond its quarter is refused, and with it the append: then the same without pins.
                if (done._tag === 'Left')
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
        // The whole of it, 25 and more, takes minutes on a busy machine.
        { numRuns: runsOf(8) },
      )
    },
  )
})
