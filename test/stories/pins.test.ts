/**
 * Random pins in real conversations with windows far too small for them: each returned context has each pinned message
 * word for word, is valid and below the hard limit. Uses the sample of the repository, or with CONTEXT_LEDGER_DATA every
 * conversation of that folder.
 */
import { afterAll, expect, it } from '@jest/globals'
import { contentText, toChatMessage } from '../../src/domain/values/message.js'
import { problemsOfEveryApi, isJson } from '../support/chat-validity.js'
import { CONVERSATION, contextIn, createHarness, createScriptedSummarizer } from '../support/harness.js'
import { hasAll, realConversations } from '../support/real-conversations.js'

/** Random numbers, the same in every run. */
function dice(seed: number): (sides: number) => number {
  let state = seed
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return Math.floor(state / 65_536) % sides
  }
}

const counts = { conversations: 0, contexts: 0, pinned: 0, refused: 0, shown: 0, shortened: 0 }

afterAll(() => {
  if (hasAll) console.log(JSON.stringify(counts))
})

const cases = [2_000, 4_000, 8_000].flatMap((window, at) =>
  [...realConversations()].map((conversation) => ({
    window,
    seed: at + conversation.messages.length,
    ...conversation,
  })),
)

it.each(cases)('$id in $window tokens', async ({ window, seed, messages }) => {
  const roll = dice(seed)
  const summarizer = createScriptedSummarizer({ verbose: true })
  const harness = createHarness({
    policy: { modelMaxTokens: window, fallback: roll(2) === 0 ? 'none' : 'extractive' },
    summarizer,
  })
  const oddArguments = new Set(
    messages
      .flatMap((message) => message.tool_calls ?? [])
      .flatMap((call) =>
        call.function === undefined || isJson(call.function.arguments) ? [] : [call.function.arguments],
      ),
  )
  const problems: string[] = []
  let leadingFits = true
  for (let from = 0; from < messages.length && leadingFits;) {
    const size = roll(40) === 0 ? 150 : 1 + roll(4)
    await harness.appended(messages.slice(from, from + size))
    from += size
    const before = await harness.conversations.load(CONVERSATION)
    const live = [...before.retained, ...before.window]
    const message = live[roll(Math.max(1, live.length))]
    if (message !== undefined && roll(3) === 0) {
      const result = await harness.pin(message.messageId, roll(6) > 0)
      if (result._tag === 'Left') counts.refused += 1
      else counts.pinned += 1
    }
    summarizer.answer = () => (roll(3) === 0 ? { failure: 'unreachable' } : undefined)
    await harness.compact('due')
    const state = await harness.conversations.load(CONVERSATION)
    leadingFits = state.leading.reduce((sum, leading) => sum + leading.tokens, 0) <= window
    if (!leadingFits) continue
    const context = contextIn(state)
    counts.contexts += 1
    if (context.shortened !== undefined) counts.shortened += 1
    if (context.tokens > window) problems.push(`revision ${String(state.revision)}: ${String(context.tokens)} tokens`)
    problems.push(...problemsOfEveryApi(context.messages, oddArguments))
    for (const pinned of [...state.retained, ...state.window].filter((each) => each.pinned)) {
      counts.shown += 1
      const sent = context.messages[context.messageIds.indexOf(pinned.messageId)]
      // A tool result whose call was compacted becomes a user message with the same text.
      const isWhole =
        JSON.stringify(sent) === JSON.stringify(toChatMessage(pinned)) ||
        (pinned.role === 'tool' &&
          sent?.role === 'user' &&
          contentText(sent.content).endsWith(contentText(pinned.content)))
      if (!isWhole)
        problems.push(
          `revision ${String(state.revision)}: the pinned message ${pinned.messageId} is missing or changed`,
        )
    }
    const newest = state.window.at(-1)?.messageId
    if (newest !== undefined && !context.messageIds.includes(newest))
      problems.push(`revision ${String(state.revision)}: the newest message ${newest} is missing`)
  }
  counts.conversations += 1
  expect(problems).toEqual([])
})
