/* oxlint-disable jest/no-conditional-expect -- the rules for a rejected list differ from those for an accepted one */
/**
 * Passes a randomly edited message list to `compress`. Either the recorded, live and returned messages are those of the
 * list, or `compress` returns an error and changes nothing. CONTEXT_LEDGER_TEST_EDITS sets the total number of edits.
 */
import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createSourceLists } from '../../src/application/compaction/source-list.js'
import { createVerify } from '../../src/application/audit/verify.js'
import { callGroups } from '../../src/domain/conversation/call-groups.js'
import type { Conversation } from '../../src/domain/conversation/conversation.js'
import { contentText, messageHash, type MessageInput, type NewMessage } from '../../src/domain/values/message.js'
import { placeholderFor } from '../../src/domain/conversation/placeholders.js'
import { problemsOfEveryApi } from '../support/chat-validity.js'
import { CONVERSATION, createHarness, messageOf, type Harness } from '../support/harness.js'
import { jsonAs } from '../support/json.js'
import { checkScripted } from '../support/check-scripted.js'
import { noRows } from '../support/row-differences.js'
import { isLong as isFullRun } from '../support/length.js'

const EDITS = Number(process.env['CONTEXT_LEDGER_TEST_EDITS'] ?? (isFullRun ? 240 : 48))
const EDITS_A_LIST = 12

type List = MessageInput[]

const kinds = [
  'append',
  'append',
  'append',
  'call',
  'edit',
  'drop',
  'insert',
  'swap',
  'cut',
  'prompt',
  'unprompt',
  'older',
  'json',
  'restart',
  'forget-ids',
  'drop-view',
  'shorten-front',
  'pin',
  'edit-view',
] as const

interface Edit {
  readonly kind: (typeof kinds)[number]
  readonly at: number
  readonly count: number
}

const edits: fc.Arbitrary<Edit[]> = fc.array(
  fc.record({ kind: fc.constantFrom(...kinds), at: fc.nat(1_000), count: fc.integer({ min: 1, max: 8 }) }),
  { minLength: EDITS_A_LIST, maxLength: EDITS_A_LIST },
)

const isView = (message: MessageInput): boolean =>
  message.role === 'system' && typeof message.content === 'string' && message.content.startsWith('[Context Summary')

/** Messages that a context inserts: notes about omitted messages, and user messages that an API requires. */
const isNote = (message: MessageInput): boolean =>
  message.role === 'user' &&
  typeof message.content === 'string' &&
  (/^\[\.\.\. .* \.\.\.\]$/u.test(message.content) ||
    /^\[(?:Shown again: |The conversation (?:begins|continues) |The assistant continues)/u.test(message.content))
const isInserted = (message: MessageInput): boolean => isView(message) || isNote(message)

const MARK = '[system message]\n'
/** A result without its call, as a user message that names the call by id, or by name and id. */
const LATE = /^\[late result of the call (?:[^ \]]+ \(([^)]+)\), [^\]]*|([^\]]+))\]\n/u

/** The list with the view as a separate message, and with the original roles of messages that contexts show as user. */
const separated = (list: readonly MessageInput[]): List =>
  list.flatMap((message): List => {
    const { role, content } = message
    if (typeof content !== 'string') return [message]
    if (role === 'user' && content.startsWith(MARK))
      return [{ ...message, role: 'system', content: content.slice(MARK.length) }]
    const late = role === 'user' ? LATE.exec(content) : null
    if (late !== null)
      return [{ ...message, role: 'tool', tool_call_id: late[1] ?? late[2], content: content.slice(late[0].length) }]
    const at = role === 'system' ? content.indexOf('\n\n[Context Summary') : -1
    if (at === -1) return [message]
    return [
      ...content
        .slice(0, at)
        .split('\n\n')
        .map((text, place): MessageInput => ({ ...(place === 0 ? message : {}), role, content: text })),
      { role: 'system', content: content.slice(at + 2) },
    ]
  })

/** The list with its first system message and the view joined, as in strict contexts. */
function joined([first, second, ...rest]: List): List {
  const text = [first, second].map((message) => (typeof message?.content === 'string' ? message.content : ''))
  const isHead =
    first?.role === 'system' && !isView(first) && second !== undefined && isView(second) && second.id === undefined
  if (!isHead) return [first, second, ...rest].filter((message) => message !== undefined)
  return [{ ...first, content: text.join('\n\n') }, ...rest]
}

class Host {
  /** Has the view as a separate message. */
  list: List = []
  /** The lists that `compress` returned. */
  readonly earlierLists: List[] = []
  private count = 0

  constructor(private readonly usesIds: boolean) {}

  /** Every fifth message repeats an earlier one. */
  private next(role: 'user' | 'assistant'): MessageInput {
    this.count += 1
    const content =
      this.count % 5 === 0
        ? 'Go on with the next berth, please.'
        : `Message ${String(this.count)}: the berth is booked ${String(this.count % 7)} times over and over again, and so on at length until somebody looks. `.repeat(
            2,
          )
    return { ...(this.usesIds ? { id: `h${String(this.count)}` } : {}), role, content }
  }

  private insertAt(at: number, messages: List): void {
    this.list = [...this.list.slice(0, at), ...messages, ...this.list.slice(at)]
  }

  edit({ kind, at, count }: Edit): void {
    const { length } = this.list
    const index = length === 0 ? 0 : at % length
    const message = this.list[index]
    switch (kind) {
      case 'append':
        for (let more = 0; more < count; more += 1)
          this.list = [...this.list, this.next(more % 2 === 0 ? 'user' : 'assistant')]
        return
      case 'call': {
        const caller = this.next('assistant')
        const calls = ['a', 'b'].map((name) => ({
          id: `${name}-${String(this.count)}`,
          type: 'function',
          function: { name: 'look', arguments: '{}' },
        }))
        const results = calls.map(({ id }): MessageInput => ({
          ...(this.usesIds ? { id: `r-${id}` } : {}),
          role: 'tool',
          tool_call_id: id,
          content: `result of ${id}`,
        }))
        const late = count % 3 === 0 ? [this.next('user')] : []
        this.list = [
          ...this.list,
          { ...caller, tool_calls: calls },
          ...results.slice(0, 1),
          ...late,
          ...results.slice(1, 1 + (count % 2)),
        ]
        return
      }
      case 'edit':
        if (message !== undefined && typeof message.content === 'string' && !isView(message))
          this.list = this.list.with(index, { ...message, content: `${message.content} Edited ${String(at)}.` })
        return
      case 'drop':
        this.list = this.list.toSpliced(index, Math.min(count, 3))
        return
      case 'insert':
        this.insertAt(index, [this.next('user')])
        return
      case 'swap': {
        const next = this.list[(index + 1) % Math.max(1, length)]
        const canSwap =
          message !== undefined && next !== undefined && index + 1 < length && !isInserted(message) && !isInserted(next)
        if (canSwap) this.list = this.list.with(index, next).with(index + 1, message)
        return
      }
      case 'cut':
        this.list = this.list.slice(0, Math.max(1, length - count * 2))
        return
      case 'prompt':
        this.list = [
          { role: 'system', content: `Be brief, says ${String(at)}.` },
          ...(this.list[0]?.role === 'system' && !isView(this.list[0]) ? this.list.slice(1) : this.list),
        ]
        return
      case 'unprompt':
        if (this.list[0]?.role === 'system' && !isView(this.list[0])) this.list = this.list.slice(1)
        return
      case 'older':
        this.list = this.earlierLists[at % Math.max(1, this.earlierLists.length)] ?? this.list
        return
      case 'json':
        this.list = jsonAs<List>(JSON.stringify(this.list))
        return
      case 'forget-ids':
        this.list = this.list.map(({ id: _id, ...withoutId }) => withoutId)
        return
      case 'drop-view':
        this.list = this.list.filter((each) => !isView(each))
        return
      case 'edit-view':
        this.list = this.list.map((each) =>
          isView(each) ? { ...each, content: `Notes of mine: ${JSON.stringify(each.content)}` } : each,
        )
        return
      case 'shorten-front':
        this.list = this.list.slice(count)
        return
      case 'restart':
      case 'pin':
    }
  }
}

const isPlaceholder = (message: NewMessage): boolean =>
  message.role === 'tool' && message.content === placeholderFor(message.toolCallId ?? '').content
/** The messages with each result directly after its call. */
function inOrder(messages: readonly NewMessage[]): NewMessage[] {
  const { groups } = callGroups(messages)
  const results = new Map(groups.map((group) => [group.call, group.results]))
  const placed = new Set(groups.flatMap((group) => group.results))
  return messages.flatMap((message, at) =>
    placed.has(at) ? [] : [message, ...(results.get(at) ?? []).flatMap((place) => messages[place] ?? [])],
  )
}
const hashes = (messages: readonly NewMessage[]): string[] => inOrder(messages).map(messageHash)
const instructions = (messages: readonly NewMessage[]): number => {
  const end = messages.findIndex(({ role }) => role !== 'system')
  return end === -1 ? messages.length : end
}

/** Pinned messages whose content is unique in the list. */
const pinnedIn = ({ retained, window }: Conversation): string[] =>
  [...retained, ...window]
    .filter(
      ({ pinned, content, toolCalls }) =>
        pinned && (toolCalls !== undefined || !contentText(content).startsWith('Go on')),
    )
    .map(messageHash)
/** Whether `part` is a subsequence of `whole`. */
function isPartOf(part: readonly string[], whole: readonly string[]): boolean {
  let at = 0
  for (const each of whole) if (each === part[at]) at += 1
  return at === part.length
}

/** Pins or unpins a live message. A pin that is too large is rejected. */
async function pin(harness: Harness, { at, count }: Edit): Promise<void> {
  const { retained, window } = await harness.conversations.load(CONVERSATION)
  const live = [...retained, ...window]
  const message = live[at % Math.max(1, live.length)]
  if (message !== undefined) await harness.pin(message.messageId, count > 2)
}

/** Errors for lists that cannot be a conversation. */
const EXPECTED_ERRORS = ['BadMessage']

async function check(harness: Harness, host: Host, keepsWhole: boolean): Promise<void> {
  const sent = joined(host.list)
  const { list } = host
  const before = (await harness.events()).length
  const stateBefore = await harness.conversations.load(CONVERSATION)
  const result = await harness.compress(sent)
  if (result.error !== undefined) {
    expect(EXPECTED_ERRORS).toContain(result.error.kind)
    expect(result.history).toBe(sent)
    expect(await harness.events()).toHaveLength(before)
    return
  }
  if (list.length === 0) return
  const state = await harness.conversations.load(CONVERSATION)
  const messages = list
    .map(messageOf)
    .filter((message, at) => !isInserted(list[at] ?? { role: 'user' }) && !isPlaceholder(message))
  const first = list.findIndex(isView)
  const leads = instructions(first === -1 ? messages : messages.slice(0, first))
  const live = hashes([...state.leading, ...state.retained, ...state.window])
  const rest = hashes(messages.slice(leads))
  const liveRest = live.slice(leads)
  // Compacted messages are the first ones of the list. Messages covered by the view of an older list may be live again,
  // because their cycle was undone.
  const shared = first === -1 ? liveRest.length : Math.min(liveRest.length, rest.length)
  expect(live.slice(0, leads)).toEqual(hashes(messages.slice(0, leads)))
  // Pinned messages, and unpinned ones that are not compacted yet, stay live before the compacted ones.
  const hasRetained = [stateBefore, state].some(
    ({ retained, window }) => retained.length > 0 || window.some(({ pinned }) => pinned),
  )
  if (!hasRetained) expect(liveRest.slice(liveRest.length - shared)).toEqual(rest.slice(rest.length - shared))
  else expect(isPartOf(liveRest.slice(liveRest.length - shared), rest)).toBe(true)
  // Pinned messages that are still in the list are still pinned and live.
  const pinned = pinnedIn(state)
  for (const hash of pinnedIn(stateBefore)) if (rest.includes(hash)) expect(pinned).toContain(hash)
  expect(result.messagesCompressed).toBe(rest.length - shared)
  // The recorded messages contain the list.
  const recorded = await createSourceLists(harness.log)(CONVERSATION, state.revision)
  const all = recorded.rest.map((each) => each.messageHash)
  for (const hash of new Set(rest))
    expect(all.filter((each) => each === hash).length).toBeGreaterThanOrEqual(
      rest.filter((each) => each === hash).length,
    )
  if (keepsWhole) expect(all.toSorted()).toEqual(rest.toSorted())
  expect((await harness.folded()).tokens).toBe(state.tokens)
  // The returned list has the live messages.
  const returned = separated(jsonAs<List>(JSON.stringify(result.history)))
  const back = returned.map((message) => messageOf(message))
  const context = await harness.context()
  // If not all messages fit, the context omits some and lists them.
  const isWhole = context.shortened?.some(({ how }) => how === 'left-out') !== true
  if (isWhole)
    expect(
      hashes(back.filter((message, at) => !isInserted(returned[at] ?? { role: 'user' }) && !isPlaceholder(message))),
    ).toEqual(live)
  expect(problemsOfEveryApi(context.messages)).toEqual([])
  host.earlierLists.push(returned)
  if (!keepsWhole) host.list = returned
}

it.each([
  [false, false],
  [false, true],
  [true, false],
  [true, true],
])(
  'the recorded messages are those of the host (keeps everything: %s, ids: %s)',
  async (keepsWhole, usesIds) => {
    await fc.assert(
      fc.asyncProperty(edits, async (all) => {
        let harness = createHarness({
          policy: { modelMaxTokens: 600, chunkSize: 3, chunkMinTokens: 0, keepRecent: 2, maxSummaryTokens: 16 },
        })
        const host = new Host(usesIds)
        host.edit({ kind: 'append', at: 0, count: 8 })
        host.list = [{ role: 'system', content: 'Be brief.' }, ...host.list]
        await check(harness, host, keepsWhole)
        for (const edit of all) {
          if (edit.kind === 'restart') harness = harness.restart()
          if (keepsWhole && ['older', 'drop-view', 'shorten-front'].includes(edit.kind))
            host.edit({ ...edit, kind: 'append' })
          else host.edit(edit)
          if (edit.kind === 'pin') await pin(harness, edit)
          await check(harness, host, keepsWhole)
        }
        expect(
          (await createVerify({ log: harness.log, checkRequest: checkScripted, rowCheck: () => noRows })()).problems,
        ).toEqual([])
      }),
      { numRuns: Math.ceil(EDITS / EDITS_A_LIST / 4), interruptAfterTimeLimit: 600_000 },
    )
  },
  900_000,
)
