/**
 * One session of the Agent Client Protocol. Streamed blocks become messages when the next thing begins. A call is emitted
 * with its result, so that its arguments are complete. Agents give no ids to most messages: ids are made from the content
 * and count equal ones.
 */
import type { SessionUpdate } from '@agentclientprotocol/sdk'
import { withoutUndefined } from '../../lib/without-undefined.js'
import { isRecord } from '../../lib/is-record.js'
import { textIn } from '../../lib/text-in.js'
import { countIn, inside, jsonText, listIn, type Fields } from './bodies.js'
import {
  addBlock,
  answerOf,
  callMessage,
  planMessages,
  promptMessages,
  resultMessage,
  textOfBlocks,
  type AcpCall,
  type AcpTerminal,
} from './acp-content.js'
import type { ContentId } from './content-id.js'
import { contextAfter, knownUsage, messageItems, summaryFrom, type NewMessage } from './message-items.js'
import type {
  CompactionItem,
  ConversationItem,
  DamageItem,
  EarlierUsage,
  MessageItem,
  SourceLocation,
  Usage,
} from './transcript.js'

export type SessionItem = MessageItem | CompactionItem | DamageItem

/** Commands by which a user lets an agent compact. */
const COMPACT = /^\/(?<command>compact|compress|summarize)\b/u
/** A context that shrinks below this part of its size was compacted. Smaller ones vary by themselves. */
const SHRUNK = 0.5
const LEAST_TOKENS = 2_000

/** Updates that no replay repeats. */
const OF_THE_SESSION: ReadonlySet<string> = new Set(['usage_update', 'available_commands_update'])

/** The time and place of a record. */
export interface AcpMoment {
  readonly at: string | undefined
  readonly where: SourceLocation
}

interface OpenMessage extends AcpMoment {
  readonly kind: 'user' | 'agent' | 'thought'
  readonly messageId: unknown
  readonly blocks: unknown[]
  readonly isForAgent: boolean
}

interface Turn {
  readonly prompt: string
  readonly promptId: string | undefined
  /** Ids of the messages of this turn. */
  readonly ids: string[]
  /** A compaction of this turn was emitted. */
  compacted: boolean
}

/** How ids are chosen: the next unused one, or, for a replay, by the number of equal messages in it. */
type ChooseId = (name: string) => string

type UpdateKind = SessionUpdate['sessionUpdate']
type UpdateHandler = (update: Fields, moment: AcpMoment) => Iterable<SessionItem>

const nothing: UpdateHandler = () => []

/** The messages of a session, from its updates. */
export class AcpSession {
  /** What the conversation item says. */
  about: Omit<ConversationItem, 'kind' | 'where'>
  /** Ids of records that are recorded. */
  readonly known = new Set<string>()
  /** The updates with which an agent shows a loaded session again; undefined if it shows none. */
  private replay: AcpSession | undefined
  private replayed: SessionItem[] = []
  private open: OpenMessage | undefined
  private readonly calls = new Map<string, AcpCall>()
  private readonly commands = new Set<string>()
  private readonly summaries = new Map<
    string,
    { readonly blocks: unknown[]; readonly moment: AcpMoment; isEnded: boolean }
  >()
  private turn: Turn | undefined
  private answers = 0
  private hasResult = false
  private contextTokens: number | undefined
  private cost = 0
  private lastCost = 0
  private earlierUsage: EarlierUsage | undefined
  private aborted: MessageItem['abortedTurn']
  private lastPlan = ''
  /** Every kind of update, as the protocol's package lists them. */
  private readonly handlers: Readonly<Record<UpdateKind, UpdateHandler>> = {
    user_message_chunk: (update, moment) => this.streamed('user', update, moment),
    agent_message_chunk: (update, moment) => this.streamed('agent', update, moment),
    agent_thought_chunk: (update, moment) => this.streamed('thought', update, moment),
    tool_call: (update, moment) => this.called(update, moment),
    tool_call_update: (update, moment) => this.called(update, moment),
    plan: (update, moment) => this.planned(listIn(update['entries']), moment),
    compaction_update: (update, moment) => this.compacting(update, moment),
    compaction_summary_chunk: (update, moment) => this.summarized(update, moment),
    usage_update: (update, moment) => this.measured(update, moment),
    available_commands_update: (update) => this.offered(listIn(update['availableCommands'])),
    // Settings of the editor, and the title, which the conversation has.
    current_mode_update: nothing,
    config_option_update: nothing,
    session_info_update: nothing,
    // For the person at the editor; no model receives it.
    notice: nothing,
  }

  constructor(
    sourceId: string,
    private readonly contentId: ContentId,
    private readonly terminals: ReadonlyMap<string, AcpTerminal>,
    private readonly chooseId?: ChooseId,
  ) {
    this.about = { sourceId }
  }

  /** The agent will show the messages of the session again. */
  beginReplay(): void {
    const times = new Map<string, number>()
    this.replayed = []
    this.replay = new AcpSession(this.about.sourceId, this.contentId, this.terminals, (name) => {
      const before = times.get(name) ?? 0
      times.set(name, before + 1)
      return idOf(name, before)
    })
  }

  /** The agent could not load the session. */
  dropReplay(): void {
    this.replay = undefined
  }

  /**
   * The messages of a replay that are not recorded: all if none is, otherwise those after the last recorded one. A replay
   * ends with the next prompt, because Gemini CLI answers the request first.
   */
  private endReplay(moment: AcpMoment): readonly SessionItem[] {
    const { replay, replayed } = this
    if (replay === undefined) return []
    const items = [...replayed, ...replay.flush(moment)]
    this.replay = undefined
    this.replayed = []
    const last = items.findLastIndex((item) => item.kind === 'message' && this.known.has(item.sourceId))
    const added = items.slice(last + 1)
    for (const item of added) if (item.kind === 'message') this.known.add(item.sourceId)
    return added
  }

  *prompted(blocks: readonly unknown[], moment: AcpMoment): Generator<SessionItem> {
    yield* this.endReplay(moment)
    yield* this.flush(moment)
    const messages = promptMessages(blocks)
    this.turn = { prompt: textOfBlocks(blocks), promptId: undefined, ids: [], compacted: false }
    this.answers += 1
    this.hasResult = false
    const sourceId = this.idFor(`user\n${jsonText(messages.map(({ body }) => body.content))}`)
    this.turn = { ...this.turn, promptId: sourceId }
    yield* this.emit(messages, sourceId, moment)
  }

  /** The agent ended the turn. */
  *ended(result: unknown, moment: AcpMoment): Generator<SessionItem> {
    const reason = textIn(inside(result, 'stopReason'))
    const { turn } = this
    yield* this.flush(moment, this.usageOf(inside(result, 'usage')))
    if (turn === undefined) return
    if (reason !== undefined && reason !== 'end_turn' && turn.promptId !== undefined)
      this.aborted = { messageId: turn.promptId, reason }
    const command = COMPACT.exec(turn.prompt)?.groups?.['command']
    if (command !== undefined && this.commands.has(command) && reason === 'end_turn' && !turn.compacted)
      yield this.compaction('manual', undefined, moment)
    this.turn = undefined
  }

  *updated(update: Fields, moment: AcpMoment): Generator<SessionItem> {
    const kind = textIn(update['sessionUpdate']) ?? ''
    if (this.replay !== undefined && !OF_THE_SESSION.has(kind)) {
      this.replayed.push(...this.replay.updated(update, moment))
      return
    }
    if (this.isKnown(kind)) yield* this.handlers[kind](update, moment)
  }

  /** The user declined a call. */
  declined(toolCallId: string, option: string): void {
    const call = this.calls.get(toolCallId)
    if (call !== undefined) call.declined = option
  }

  /** The connection has ended. */
  *closed(moment: AcpMoment): Generator<SessionItem> {
    yield* this.endReplay(moment)
    yield* this.flush(moment)
  }

  /** Everything that has begun, as it is now. */
  private *flush(moment: AcpMoment, usage?: Usage): Generator<SessionItem> {
    const messages = [...this.closeMessage(usage), ...this.openCalls(moment)]
    if (usage !== undefined && messages.every((item) => item.kind !== 'message' || item.usage === undefined))
      this.earlierUsage = { answerId: this.answerId(), usage }
    yield* messages
  }

  /** A newer version of the protocol may have other updates. */
  isKnown(kind: string): kind is UpdateKind {
    return Object.hasOwn(this.handlers, kind)
  }

  private *streamed(kind: OpenMessage['kind'], update: Fields, moment: AcpMoment): Generator<SessionItem> {
    const { content, messageId } = update
    const isSame =
      this.open?.kind === kind &&
      (this.open.messageId === messageId || this.open.messageId === undefined || messageId === undefined)
    if (!isSame) {
      yield* this.closeMessage()
      this.beginAnswer(kind)
      const isForAgent = listIn(inside(content, 'annotations', 'audience')).every((each) => each === 'assistant')
      const hasAudience = listIn(inside(content, 'annotations', 'audience')).length > 0
      this.open = { kind, messageId, blocks: [], isForAgent: hasAudience && isForAgent, ...moment }
    }
    addBlock(this.open?.blocks ?? [], content)
  }

  /** What follows a result belongs to the next answer of the model. */
  private beginAnswer(kind: OpenMessage['kind'] | 'call'): void {
    if (kind === 'user' || this.hasResult) this.answers += 1
    this.hasResult = false
  }

  private answerId(): string {
    return `answer-${String(this.answers)}`
  }

  private *closeMessage(usage?: Usage): Generator<SessionItem> {
    const { open } = this
    this.open = undefined
    if (open === undefined) return
    if (open.kind === 'user') {
      const messages = promptMessages(open.blocks).map((message): NewMessage => ({
        ...message,
        ...(open.isForAgent ? { byProgram: true } : {}),
      }))
      if (messages.length === 0) return
      const sourceId = this.idFor(`user\n${jsonText(messages.map(({ body }) => body.content))}`)
      yield* this.emit(messages, sourceId, open)
      return
    }
    const body = answerOf(open.blocks, open.kind === 'thought')
    if (body === undefined) return
    yield* this.emit([{ body }], this.idFor(`${open.kind}\n${jsonText(body.content)}`), open, usage)
  }

  private *called(update: Fields, moment: AcpMoment): Generator<SessionItem> {
    const id = textIn(update['toolCallId'])
    if (id === undefined) return
    let call = this.calls.get(id)
    const isAgain = update['sessionUpdate'] === 'tool_call' && call?.hasResult === true
    if (call === undefined || isAgain) {
      yield* this.closeMessage()
      this.beginAnswer('call')
      call = {
        id,
        first: update,
        fields: {},
        isEmitted: false,
        hasResult: false,
      }
      this.calls.set(id, call)
    }
    // Fields that are absent or null keep their values.
    const entries = Object.entries(update).filter(([, value]) => value !== undefined && value !== null)
    call.fields = { ...call.fields, ...Object.fromEntries(entries) }
    const { status } = call.fields
    if (call.hasResult || (status !== 'completed' && status !== 'failed')) return
    call.hasResult = true
    yield* this.openCalls(moment)
    yield* this.emit([resultMessage(call, this.terminalsOf(call))], this.idFor(`result-${id}`), moment)
    this.hasResult = true
  }

  /** The calls that have begun and were not emitted, in order. */
  private *openCalls(moment: AcpMoment): Generator<SessionItem> {
    for (const call of this.calls.values()) {
      if (call.isEmitted) continue
      call.isEmitted = true
      yield* this.emit([callMessage(call, this.terminalsOf(call))], this.idFor(`call-${call.id}`), moment)
    }
  }

  private terminalsOf({ fields }: AcpCall): readonly AcpTerminal[] {
    return listIn(fields['content']).flatMap((each) => {
      const terminal = this.terminals.get(textIn(inside(each, 'terminalId')) ?? '')
      return terminal === undefined ? [] : [terminal]
    })
  }

  private offered(commands: readonly unknown[]): readonly SessionItem[] {
    for (const command of commands) this.commands.add(textIn(inside(command, 'name')) ?? '')
    return []
  }

  private *planned(entries: readonly unknown[], moment: AcpMoment): Generator<SessionItem> {
    const plan = jsonText(entries)
    if (plan === this.lastPlan || entries.length === 0) return
    this.lastPlan = plan
    yield* this.closeMessage()
    this.beginAnswer('call')
    const sourceId = this.idFor(`plan\n${plan}`)
    yield* this.emit(planMessages(sourceId, entries), sourceId, moment)
    this.hasResult = true
  }

  private *summarized(update: Fields, moment: AcpMoment): Generator<SessionItem> {
    const id = textIn(update['compactionId'])
    if (id === undefined) return
    yield* this.noticeCompaction(id, moment)
    addBlock(this.summaries.get(id)?.blocks ?? [], update['content'])
  }

  /** The first notice of a compaction fixes its place. */
  private *noticeCompaction(id: string, moment: AcpMoment): Generator<SessionItem> {
    if (this.summaries.has(id)) return
    this.summaries.set(id, { blocks: [], moment, isEnded: false })
    yield* this.flush(moment)
  }

  private *compacting(update: Fields, moment: AcpMoment): Generator<SessionItem> {
    const id = textIn(update['compactionId'])
    if (id === undefined) return
    yield* this.noticeCompaction(id, moment)
    const known = this.summaries.get(id)
    if (known === undefined || known.isEnded) return
    const { summary, status } = update
    if (summary !== undefined) known.blocks.splice(0, known.blocks.length, ...listIn(summary))
    known.isEnded = status !== 'in_progress'
    if (status !== 'completed') return
    const isManual = COMPACT.test(this.turn?.prompt ?? '')
    yield this.compaction(isManual ? 'manual' : 'auto', { id, text: textOfBlocks(known.blocks) }, known.moment)
  }

  /** A context that shrinks was compacted: most agents do not say it in another way. */
  private *measured({ used, cost }: Fields, moment: AcpMoment): Generator<SessionItem> {
    const [tokens, before] = [countIn(used), this.contextTokens]
    const amount = inside(cost, 'currency') === 'USD' ? countIn(inside(cost, 'amount')) : undefined
    if (amount !== undefined) this.cost = amount
    if (tokens === undefined) return
    this.contextTokens = tokens
    if (before === undefined || before < LEAST_TOKENS || tokens >= before * SHRUNK) return
    yield* this.flush(moment)
    const trigger = COMPACT.test(this.turn?.prompt ?? '') ? 'manual' : 'auto'
    yield { ...this.compaction(trigger, undefined, moment), tokensBefore: before, tokensAfter: tokens }
  }

  /** What stays of the current turn is not stated; everything before it is covered. */
  private compaction(
    trigger: CompactionItem['trigger'],
    told: { readonly id: string; readonly text: string } | undefined,
    { at, where }: AcpMoment,
  ): CompactionItem {
    if (this.turn !== undefined) this.turn.compacted = true
    this.contextTokens = undefined
    const summary = summaryFrom(told?.text)
    const inserted = summary.kind === 'text' ? ({ role: 'user', content: summary.text } as const) : undefined
    const unknown = this.turn?.ids ?? []
    return {
      kind: 'compaction',
      // Numbers of answers begin again with each connection; the last message does not.
      sourceId: this.idFor(`compaction-${told?.id ?? ''}-${[...this.known].at(-1) ?? ''}`),
      at,
      trigger,
      summary,
      context: contextAfter(inserted),
      ...(unknown.length === 0 ? {} : { unknown: [...unknown] }),
      where,
    }
  }

  private idFor(name: string): string {
    const id = name.startsWith('call-') || name.startsWith('result-') ? name : this.contentId(name)
    if (this.chooseId !== undefined) return this.chooseId(id)
    for (let times = 0; ; times += 1) if (!this.known.has(idOf(id, times))) return idOf(id, times)
  }

  private *emit(
    messages: readonly NewMessage[],
    sourceId: string,
    { at, where }: AcpMoment,
    usage?: Usage,
  ): Generator<MessageItem | DamageItem> {
    this.known.add(sourceId)
    this.turn?.ids.push(sourceId)
    for (const item of messageItems(messages, { sourceId, at, where, answerId: this.answerId(), usage })) {
      yield item.kind === 'message' ? { ...item, ...this.taken() } : item
    }
  }

  /** What the next message says of the turn before it. */
  private taken(): Pick<MessageItem, 'earlierUsage' | 'abortedTurn'> {
    const { earlierUsage, aborted: abortedTurn } = this
    this.earlierUsage = undefined
    this.aborted = undefined
    return withoutUndefined({ earlierUsage, abortedTurn })
  }

  /** The usage of a turn. Costs are those of the session so far. */
  private usageOf(usage: unknown): Usage | undefined {
    const cost = this.cost > this.lastCost ? this.cost - this.lastCost : undefined
    this.lastCost = this.cost
    if (!isRecord(usage)) return knownUsage({ cost })
    const [input, output, total] = ['inputTokens', 'outputTokens', 'totalTokens'].map((name) => countIn(usage[name]))
    const [read, written] = [countIn(usage['cachedReadTokens']), countIn(usage['cachedWriteTokens'])]
    const withCache = (input ?? 0) + (read ?? 0) + (written ?? 0)
    const countsCacheApart = total !== undefined && total === withCache + (output ?? 0)
    return knownUsage({
      inputTokens: input !== undefined && countsCacheApart ? withCache : input,
      outputTokens: output,
      cacheReadTokens: read,
      cacheWriteTokens: written,
      reasoningTokens: countIn(usage['thoughtTokens']),
      cost,
    })
  }
}

const idOf = (id: string, times: number): string => (times === 0 ? id : `${id}.${String(times)}`)
