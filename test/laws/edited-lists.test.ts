/* oxlint-disable jest/no-conditional-expect -- a refused list is held to other rules than one that is taken */
/**
 * A host's list through `compress`, edited at random: what the host has is what is recorded, live and handed back, or a
 * named error and nothing changed. Small by default; CONTEXT_LEDGER_TEST_EDITS says how many edits in all (the whole:
 * 2000).
 */
import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createSaidLists } from '../../src/compaction/said-list.js'
import { createVerify } from '../../src/audit/verify.js'
import { callGroups } from '../../src/domain/conversation/call-groups.js'
import type { Conversation } from '../../src/domain/conversation/conversation.js'
import { contentText, messageHash, type MessageInput, type NewMessage } from '../../src/domain/values/message.js'
import { placeholderFor } from '../../src/domain/conversation/placeholders.js'
import { chatProblems } from '../support/chat-validity.js'
import { CONVERSATION, createHarness, messageOf, type Harness } from '../support/harness.js'
import { jsonAs } from '../support/json.js'
import { checkScripted } from '../support/check-scripted.js'
import { noRows } from '../support/row-differences.js'
import { isLong, isWhole as asksAll } from '../support/length.js'

const EDITS = Number(process.env['CONTEXT_LEDGER_TEST_EDITS'] ?? (asksAll ? 240 : isLong ? 96 : 48))
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

/** What a context says in the place of messages that it has no room for. */
const isNote = (message: MessageInput): boolean =>
  message.role === 'system' &&
  typeof message.content === 'string' &&
  message.content.startsWith('[... ') &&
  message.content.endsWith(' ...]')
const isOurs = (message: MessageInput): boolean => isView(message) || isNote(message)

class Host {
  list: List = []
  readonly kept: List[] = []
  private said = 0

  constructor(private readonly usesIds: boolean) {}

  /** Some repeat each other, as people do. */
  private next(role: 'user' | 'assistant'): MessageInput {
    this.said += 1
    const content =
      this.said % 5 === 0
        ? 'Go on with the next berth, please.'
        : `Message ${String(this.said)}: the berth is booked ${String(this.said % 7)} times over and over again, and so on at length until somebody looks. `.repeat(
            2,
          )
    return { ...(this.usesIds ? { id: `h${String(this.said)}` } : {}), role, content }
  }

  private insertAt(at: number, messages: List): void {
    this.list = [...this.list.slice(0, at), ...messages, ...this.list.slice(at)]
  }

  edit({ kind, at, count }: Edit): void {
    const { length } = this.list
    const place = length === 0 ? 0 : at % length
    const here = this.list[place]
    switch (kind) {
      case 'append':
        for (let more = 0; more < count; more += 1)
          this.list = [...this.list, this.next(more % 2 === 0 ? 'user' : 'assistant')]
        return
      case 'call': {
        const caller = this.next('assistant')
        const calls = ['a', 'b'].map((name) => ({
          id: `${name}-${String(this.said)}`,
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
        if (here !== undefined && typeof here.content === 'string' && !isView(here))
          this.list = this.list.with(place, { ...here, content: `${here.content} Edited ${String(at)}.` })
        return
      case 'drop':
        this.list = this.list.toSpliced(place, Math.min(count, 3))
        return
      case 'insert':
        this.insertAt(place, [this.next('user')])
        return
      case 'swap': {
        const other = this.list[(place + 1) % Math.max(1, length)]
        if (here !== undefined && other !== undefined && place + 1 < length && !isOurs(here) && !isOurs(other))
          this.list = this.list.with(place, other).with(place + 1, here)
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
        this.list = this.kept[at % Math.max(1, this.kept.length)] ?? this.list
        return
      case 'json':
        this.list = jsonAs<List>(JSON.stringify(this.list))
        return
      case 'forget-ids':
        this.list = this.list.map(({ id: _id, ...message }) => message)
        return
      case 'drop-view':
        this.list = this.list.filter((message) => !isView(message))
        return
      case 'edit-view':
        this.list = this.list.map((message) =>
          isView(message) ? { ...message, content: `Notes of mine: ${JSON.stringify(message.content)}` } : message,
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
/** Results stand behind their call. */
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

/** Pinned messages that nothing else in the list says word for word. */
const pinnedIn = ({ retained, window }: Conversation): string[] =>
  [...retained, ...window]
    .filter(
      ({ pinned, content, toolCalls }) =>
        pinned && (toolCalls !== undefined || !contentText(content).startsWith('Go on')),
    )
    .map(messageHash)
/** What is left of a list where some of it is taken out. */
function isPartOf(part: readonly string[], whole: readonly string[]): boolean {
  let at = 0
  for (const each of whole) if (each === part[at]) at += 1
  return at === part.length
}

/** Pins a live message, or takes its pin away; a pin that is too large is refused. */
async function pin(harness: Harness, { at, count }: Edit): Promise<void> {
  const { retained, window } = await harness.conversations.load(CONVERSATION)
  const live = [...retained, ...window]
  const message = live[at % Math.max(1, live.length)]
  if (message !== undefined) await harness.pin(message.messageId, count > 2)
}

/** What a host may have handed in that no conversation can be. */
const NAMED = ['ToolResultWithoutCall', 'BadMessage']

async function check(harness: Harness, host: Host, keepsWhole: boolean): Promise<void> {
  const given = host.list
  const before = (await harness.events()).length
  const stateBefore = await harness.conversations.load(CONVERSATION)
  const done = await harness.compress(given)
  if (done.error !== undefined) {
    expect(NAMED).toContain(done.error.kind)
    expect(done.history).toBe(given)
    expect(await harness.events()).toHaveLength(before)
    return
  }
  if (given.length === 0) return
  const state = await harness.conversations.load(CONVERSATION)
  const said = given
    .map(messageOf)
    .filter((message, at) => !isOurs(given[at] ?? { role: 'user' }) && !isPlaceholder(message))
  const first = given.findIndex(isView)
  const leads = instructions(first === -1 ? said : said.slice(0, first))
  const live = hashes([...state.leading, ...state.retained, ...state.window])
  const rest = hashes(said.slice(leads))
  const liveRest = live.slice(leads)
  // Those of the list that are compacted are its first ones. What a view of an older list stands for may be live again,
  // since its cycle was undone.
  const shared = first === -1 ? liveRest.length : Math.min(liveRest.length, rest.length)
  expect(live.slice(0, leads)).toEqual(hashes(said.slice(0, leads)))
  // What is pinned, or was and is not folded yet, stays live in front of what was compacted.
  const staysBehind = [stateBefore, state].some(
    ({ retained, window }) => retained.length > 0 || window.some(({ pinned }) => pinned),
  )
  if (!staysBehind) expect(liveRest.slice(liveRest.length - shared)).toEqual(rest.slice(rest.length - shared))
  else expect(isPartOf(liveRest.slice(liveRest.length - shared), rest)).toBe(true)
  // What was pinned and is said still is pinned still, and live.
  const pinned = pinnedIn(state)
  for (const hash of pinnedIn(stateBefore)) if (rest.includes(hash)) expect(pinned).toContain(hash)
  expect(done.messagesCompressed).toBe(rest.length - shared)
  // What is said in all ends with the list: nothing of it twice, nothing between.
  const list = await createSaidLists(harness.log)(CONVERSATION, state.revision)
  const all = list.rest.map((each) => each.messageHash)
  for (const hash of new Set(rest))
    expect(all.filter((each) => each === hash).length).toBeGreaterThanOrEqual(
      rest.filter((each) => each === hash).length,
    )
  if (keepsWhole) expect(all.toSorted()).toEqual(rest.toSorted())
  expect((await harness.folded()).tokens).toBe(state.tokens)
  // And that is what comes back.
  const back = done.history.map((message) => messageOf(message))
  const context = await harness.context()
  // Where there is no room for all, the context leaves messages out, and says so.
  const isWhole = context.shortened?.some(({ how }) => how === 'left-out') !== true
  if (isWhole)
    expect(
      hashes(back.filter((message, at) => !isOurs(done.history[at] ?? { role: 'user' }) && !isPlaceholder(message))),
    ).toEqual(live)
  expect(chatProblems(context.messages)).toEqual([])
  host.kept.push(jsonAs<List>(JSON.stringify(done.history)))
  if (!keepsWhole) host.list = [...done.history]
}

it.each([
  [false, false],
  [false, true],
  [true, false],
  [true, true],
])(
  'what the host has is what is recorded (keeps everything: %s, ids: %s)',
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
