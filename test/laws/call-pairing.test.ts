/**
 * A result belongs to the last call before it with its id, wherever calls and results are paired: in exports, requests
 * to summarizers, reports, handed-over sessions, and on the page. Ids repeat, as in programs that number calls anew in
 * every turn; a result may be late, missing, doubled, or of a call that is not in the list.
 */
import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { runningIn } from '../../src/application/loss-report/running.js'
import { worksOf } from '../../src/application/loss-report/tool-calls.js'
import type { ReportMessage } from '../../src/application/loss-report/report-input.js'
import { piecesOf } from '../../src/application/handoff/handed-messages.js'
import { trajectoryOf } from '../../src/application/importers/atif-writer.js'
import { markdownOf } from '../../src/library/conversation-markdown.js'
import { chatCalls } from '../../src/interfaces/page/reading/chat-calls.js'
import { ToolNames } from '../../src/interfaces/page/reading/tool-names.js'
import { formatMessages } from '../../src/application/summarizers/format-messages.js'
import { toolActions } from '../../src/application/summarizers/tool-actions.js'
import { repeated } from '../support/length.js'
import { CallPairing, isOpenCall } from '../../src/domain/conversation/call-groups.js'
import { contentText, toChatMessage, type MessageBody } from '../../src/domain/values/message.js'

const AT = '2026-03-01T10:00:00.000Z'

/** The steps of a list: calls with these ids in one message, a result for an id, or a text. */
type Step = readonly string[] | string | undefined

const ids = fc.constantFrom('0', '1', '2')
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(fc.uniqueArray(ids, { minLength: 1, maxLength: 2 }), ids, fc.constant(undefined)),
  { maxLength: 14 },
)

interface Named extends MessageBody {
  readonly messageId: string
  readonly createdAt: string
  /** The names of the message's calls, or the name of the call that it answers first; '' for a stray. */
  readonly expected: readonly string[]
}

/** Messages with calls of different names. */
function messagesOf(list: readonly Step[]): Named[] {
  const messages: Named[] = []
  let calls = 0
  for (const [at, step] of list.entries()) {
    const base = { messageId: `m${String(at)}`, createdAt: AT }
    if (step === undefined) messages.push({ ...base, role: 'user', content: `Text ${String(at)}.`, expected: [] })
    else if (typeof step === 'string') {
      const expected = calledBy(messages, step)
      const text = `result ${String(at)}`
      messages.push({ ...base, role: 'tool', toolCallId: step, content: text, expected: [expected] })
    } else {
      const toolCalls = step.map((id) => {
        calls += 1
        return { id, type: 'function' as const, function: { name: `tool${String(calls)}x`, arguments: '{}' } }
      })
      messages.push({
        ...base,
        role: 'assistant',
        content: null,
        toolCalls,
        expected: toolCalls.map((call) => call.function.name),
      })
    }
  }
  return messages
}

/** The name of the last call with an id, by reading backwards: the statement of the rule without its code. */
function calledBy(messages: readonly Named[], id: string): string {
  for (const { toolCalls = [] } of messages.toReversed()) {
    const call = toolCalls.find((each) => each.id === id)
    if (call?.function !== undefined) return call.function.name
  }
  return ''
}

/** The first result of each call, by the name of the call. */
function firstResults(messages: readonly Named[]): Record<string, string> {
  const results: Record<string, string> = {}
  for (const { role, expected, content } of messages)
    if (role === 'tool' && expected[0] !== '') results[expected[0] ?? ''] ??= contentText(content)
  return results
}

const reportMessage = ({ messageId, role, content, toolCalls, toolCallId }: Named, at: number): ReportMessage => ({
  messageId,
  revision: at,
  role,
  text: contentText(content),
  ownText: contentText(content),
  tokens: 1,
  ...(toolCalls === undefined
    ? {}
    : { toolCalls: toolCalls.map(({ id, function: called }) => ({ id, name: called?.name ?? '', arguments: '{}' })) }),
  ...(toolCallId === undefined ? {} : { toolCallId }),
})

const named = (messages: readonly Named[]): string[] =>
  messages.flatMap(({ role, expected: [name = ''] }) => (role === 'tool' ? [name] : []))

it('each place names the same call for a result', () => {
  fc.assert(
    fc.property(steps, (list) => {
      const messages = messagesOf(list)
      const recorded = messages.map(({ expected: _expected, ...message }) => message)
      const names = named(messages)

      const markdown = markdownOf('c', { messages: recorded, title: undefined })
      expect(Array.from(markdown.matchAll(/^## Result(?: of (\w+))?$/gmu), ([, name = '']) => name)).toEqual(names)

      const prompt = formatMessages(
        recorded.map((message, revision) => ({ ...message, revision })),
        100_000,
      )
      expect(Array.from(prompt.matchAll(/\[result of (a tool|\w+)[\],]/gu), ([, name]) => name)).toEqual(
        names.map((name) => (name === '' ? 'a tool' : name)),
      )

      const page = chatCalls(recorded.map(toChatMessage))
      expect(
        messages.flatMap(({ role }, at) => (role === 'tool' ? [page.get(at)?.call.function?.name ?? ''] : [])),
      ).toEqual(names)

      const logNames = new ToolNames()
      const inLog = recorded.flatMap((data) => {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only these fields are read
        const event = { type: 'MessageAppended', data } as unknown as Parameters<ToolNames['toolOf']>[0]
        const tool = logNames.toolOf(event)
        return data.role === 'tool' ? [tool ?? ''] : []
      })
      expect(inLog).toEqual(names)
    }),
    { numRuns: repeated(600, 150) },
  )
})

it('each place has the same result for a call', () => {
  fc.assert(
    fc.property(steps, fc.nat({ max: 14 }), (list, cut) => {
      const messages = messagesOf(list)
      const recorded = messages.map(({ expected: _expected, ...message }) => message)
      const reported = messages.map(reportMessage)
      const results = firstResults(messages)
      const all = messages.flatMap(({ role, expected }) => (role === 'assistant' ? expected : []))

      const works = worksOf(reported)
      expect(works.map(({ call, result }) => [call.name, result?.text])).toEqual(
        all.map((name) => [name, results[name]]),
      )

      const summarized = recorded.map((message, revision) => ({ ...message, revision, attributes: undefined }))
      const actions = toolActions(summarized).filter(({ tool }) => tool !== 'tool')
      expect(actions.map(({ tool, outcome }) => [tool, outcome])).toEqual(all.map((name) => [name, results[name]]))

      const agent = { name: 'a', version: '1' }
      const { steps: written } = trajectoryOf({
        conversationId: 'c',
        agent,
        title: undefined,
        cwd: undefined,
        messages: recorded,
      })
      const inSteps = written.flatMap(({ tool_calls: calls = [], observation }) =>
        calls.map(({ function_name: name, tool_call_id: id }) => [
          name,
          observation?.results.find(({ source_call_id: source }) => source === id)?.content,
        ]),
      )
      expect(inSteps).toEqual(all.map((name) => [name, results[name]]))

      const handed = recorded.map(({ messageId, ...body }) => ({
        messageId,
        body,
        at: AT,
        isError: false,
        model: undefined,
        answerId: undefined,
      }))
      const texts = piecesOf(handed, { from: 'codex', to: 'codex' }).map(({ turns }) => JSON.stringify(turns))
      const inPieces = all.map((name) => {
        const piece = texts.find((text) => text.includes(name) && !text.includes('Handed over: a further')) ?? ''
        return [name, results[name] === undefined || piece.includes(`${results[name] ?? ''}"`)]
      })
      expect(inPieces).toEqual(all.map((name) => [name, true]))

      // A call is open if neither the removed messages nor the remaining ones have its result.
      const removed = reported.slice(0, cut)
      const lastPrompt = reported.findLast(({ role }) => role === 'user')?.revision ?? -1
      const open = runningIn(removed, worksOf(removed), reported.slice(cut)).map(({ work }) => work.call.name)
      const expectedOpen = messages
        .slice(0, cut)
        .flatMap(({ role, expected }, at) => (role === 'assistant' && at > lastPrompt ? expected : []))
      expect(open).toEqual(expectedOpen.filter((name) => results[name] === undefined))
    }),
    { numRuns: repeated(600, 150) },
  )
})

it('a call has no result yet by the last message with its id, whether a list is read from its beginning or its end', () => {
  fc.assert(
    fc.property(steps, (list) => {
      const messages = messagesOf(list)
      const pairing = new CallPairing()
      for (const message of messages) pairing.take(message, undefined)
      for (const id of ['0', '1', '2']) expect(pairing.isOpen(id)).toBe(isOpenCall(messages.toReversed(), id))
    }),
    { numRuns: repeated(600, 150) },
  )
})
