/**
 * One session of the Agent Client Protocol. Streamed blocks become messages when the next thing begins. A call is emitted
 * with its result, so that its arguments are complete.
 */
import type { SessionUpdate } from '@agentclientprotocol/sdk'
import { textIn } from '../../lib/text-in.js'
import { AcpCompactions, triggerIn } from './acp-compactions.js'
import {
  addBlock,
  answerOf,
  callMessage,
  planMessages,
  promptMessages,
  resultMessage,
  textOfBlocks,
  type AcpCall,
  type AcpMoment,
  type AcpTerminal,
} from './acp-content.js'
import type { AcpIds } from './acp-ids.js'
import { AcpTurns } from './acp-turns.js'
import { countIn, inside, jsonText, listIn, type Fields } from './bodies.js'
import { contextAfter, messageItems, summaryFrom, type NewMessage } from './message-items.js'
import type { CompactionItem, ConversationItem, DamageItem, MessageItem, Usage } from './transcript.js'

export type SessionItem = MessageItem | CompactionItem | DamageItem

/** Updates that no replay repeats. */
const OF_THE_SESSION: ReadonlySet<string> = new Set(['usage_update', 'available_commands_update'])

interface OpenMessage extends AcpMoment {
  readonly kind: 'user' | 'agent' | 'thought'
  readonly messageId: unknown
  readonly blocks: unknown[]
  readonly isForAgent: boolean
}

type UpdateKind = SessionUpdate['sessionUpdate']
type UpdateHandler = (session: AcpSession, update: Fields, moment: AcpMoment) => Iterable<SessionItem>

const nothing: UpdateHandler = () => []

/** The messages of a session, from its updates. */
export class AcpSession {
  /** What the conversation item says. */
  about: Omit<ConversationItem, 'kind' | 'where'>
  /** The updates with which an agent shows a loaded session again; undefined if it shows none. */
  private replay: { readonly session: AcpSession; readonly items: SessionItem[] } | undefined
  private readonly turns = new AcpTurns()
  private readonly compactions = new AcpCompactions()
  /** The message that is streamed. */
  private open: OpenMessage | undefined
  private readonly calls = new Map<string, AcpCall>()
  private lastPlan = ''

  /** Every kind of update, as the protocol's package lists them. */
  private static readonly handlers: Readonly<Record<UpdateKind, UpdateHandler>> = {
    user_message_chunk: (session, update, moment) => session.streamed('user', update, moment),
    agent_message_chunk: (session, update, moment) => session.streamed('agent', update, moment),
    agent_thought_chunk: (session, update, moment) => session.streamed('thought', update, moment),
    tool_call: (session, update, moment) => session.called(update, moment),
    tool_call_update: (session, update, moment) => session.called(update, moment),
    plan: (session, update, moment) => session.planned(listIn(update['entries']), moment),
    compaction_update: (session, update, moment) => session.compacting(update, moment),
    compaction_summary_chunk: (session, update, moment) => session.summarized(update, moment),
    usage_update: (session, update, moment) => session.measured(update, moment),
    available_commands_update: (session, update) => session.offered(listIn(update['availableCommands'])),
    // Settings of the editor, and the title, which the conversation has.
    current_mode_update: nothing,
    config_option_update: nothing,
    session_info_update: nothing,
    // For the person at the editor; no model receives it.
    notice: nothing,
  }

  constructor(
    sourceId: string,
    private readonly ids: AcpIds,
    private readonly terminals: ReadonlyMap<string, AcpTerminal>,
  ) {
    this.about = { sourceId }
  }

  /** The ids of records of the session that are recorded. */
  addKnown(sourceIds: readonly string[]): void {
    for (const sourceId of sourceIds) this.ids.known.add(sourceId)
  }

  /** The agent will show the messages of the session again. */
  beginReplay(): void {
    this.replay = { session: new AcpSession(this.about.sourceId, this.ids.ofReplay(), this.terminals), items: [] }
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
    const { replay } = this
    if (replay === undefined) return []
    this.replay = undefined
    const items = [...replay.items, ...replay.session.flush(moment)]
    const last = items.findLastIndex((item) => item.kind === 'message' && this.ids.known.has(item.sourceId))
    const added = items.slice(last + 1)
    this.addKnown(added.flatMap((item) => (item.kind === 'message' ? [item.sourceId] : [])))
    return added
  }

  *prompted(blocks: readonly unknown[], moment: AcpMoment): Generator<SessionItem> {
    yield* this.endReplay(moment)
    yield* this.flush(moment)
    const messages = promptMessages(blocks)
    this.ids.beginAnswer(true)
    const sourceId = this.ids.idFor(`user\n${jsonText(messages.map(({ body }) => body.content))}`)
    this.turns.begin(textOfBlocks(blocks), sourceId)
    yield* this.emit(messages, sourceId, moment)
  }

  /** The agent ended the turn. */
  *ended(result: unknown, moment: AcpMoment): Generator<SessionItem> {
    const reason = textIn(inside(result, 'stopReason'))
    const turn = this.turns.current
    yield* this.flush(moment, this.turns.usageOf(inside(result, 'usage')))
    if (turn === undefined) return
    if (reason !== undefined && reason !== 'end_turn') this.turns.abort(turn, reason)
    if (this.compactions.isCommand(turn.prompt) && reason === 'end_turn' && !turn.compacted)
      yield this.compaction('manual', undefined, moment)
    this.turns.current = undefined
  }

  *updated(update: Fields, moment: AcpMoment): Generator<SessionItem> {
    const kind = textIn(update['sessionUpdate']) ?? ''
    if (this.replay !== undefined && !OF_THE_SESSION.has(kind)) {
      this.replay.items.push(...this.replay.session.updated(update, moment))
      return
    }
    if (this.isKnown(kind)) yield* AcpSession.handlers[kind](this, update, moment)
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
      this.turns.setEarlierUsage({ answerId: this.ids.answerId, usage })
    yield* messages
  }

  /** A newer version of the protocol may have other updates. */
  isKnown(kind: string): kind is UpdateKind {
    return Object.hasOwn(AcpSession.handlers, kind)
  }

  private *streamed(kind: OpenMessage['kind'], update: Fields, moment: AcpMoment): Generator<SessionItem> {
    const { content, messageId } = update
    const isSame =
      this.open?.kind === kind &&
      (this.open.messageId === messageId || this.open.messageId === undefined || messageId === undefined)
    if (!isSame) {
      yield* this.closeMessage()
      this.ids.beginAnswer(kind === 'user')
      const isForAgent = listIn(inside(content, 'annotations', 'audience')).every((each) => each === 'assistant')
      const hasAudience = listIn(inside(content, 'annotations', 'audience')).length > 0
      this.open = { kind, messageId, blocks: [], isForAgent: hasAudience && isForAgent, ...moment }
    }
    addBlock(this.open?.blocks ?? [], content)
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
      const sourceId = this.ids.idFor(`user\n${jsonText(messages.map(({ body }) => body.content))}`)
      yield* this.emit(messages, sourceId, open)
      return
    }
    const body = answerOf(open.blocks, open.kind === 'thought')
    if (body === undefined) return
    yield* this.emit([{ body }], this.ids.idFor(`${open.kind}\n${jsonText(body.content)}`), open, usage)
  }

  private *called(update: Fields, moment: AcpMoment): Generator<SessionItem> {
    const id = textIn(update['toolCallId'])
    if (id === undefined) return
    let call = this.calls.get(id)
    const isAgain = update['sessionUpdate'] === 'tool_call' && call?.hasResult === true
    if (call === undefined || isAgain) {
      yield* this.closeMessage()
      this.ids.beginAnswer(false)
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
    yield* this.emit([resultMessage(call, this.terminalsOf(call))], this.ids.idFor(`result-${id}`), moment)
    this.ids.endAnswer()
  }

  /** The calls that have begun and were not emitted, in order. */
  private *openCalls(moment: AcpMoment): Generator<SessionItem> {
    for (const call of this.calls.values()) {
      if (call.isEmitted) continue
      call.isEmitted = true
      yield* this.emit([callMessage(call, this.terminalsOf(call))], this.ids.idFor(`call-${call.id}`), moment)
    }
  }

  private terminalsOf({ fields }: AcpCall): readonly AcpTerminal[] {
    return listIn(fields['content']).flatMap((each) => {
      const terminal = this.terminals.get(textIn(inside(each, 'terminalId')) ?? '')
      return terminal === undefined ? [] : [terminal]
    })
  }

  private offered(commands: readonly unknown[]): readonly SessionItem[] {
    this.compactions.offer(commands)
    return []
  }

  private *planned(entries: readonly unknown[], moment: AcpMoment): Generator<SessionItem> {
    const plan = jsonText(entries)
    if (plan === this.lastPlan || entries.length === 0) return
    this.lastPlan = plan
    yield* this.closeMessage()
    this.ids.beginAnswer(false)
    const sourceId = this.ids.idFor(`plan\n${plan}`)
    yield* this.emit(planMessages(sourceId, entries), sourceId, moment)
    this.ids.endAnswer()
  }

  private *summarized(update: Fields, moment: AcpMoment): Generator<SessionItem> {
    const id = textIn(update['compactionId'])
    if (id === undefined) return
    if (this.compactions.notice(id, moment)) yield* this.flush(moment)
    this.compactions.addBlock(id, update['content'])
  }

  private *compacting(update: Fields, moment: AcpMoment): Generator<SessionItem> {
    const id = textIn(update['compactionId'])
    if (id === undefined) return
    if (this.compactions.notice(id, moment)) yield* this.flush(moment)
    const completed = this.compactions.update(id, update)
    if (completed !== undefined)
      yield this.compaction(triggerIn(this.turns.current?.prompt), { id, text: completed.text }, completed.moment)
  }

  /** A context that shrinks was compacted: most agents do not say it in another way. */
  private *measured({ used, cost }: Fields, moment: AcpMoment): Generator<SessionItem> {
    const tokens = countIn(used)
    const amount = inside(cost, 'currency') === 'USD' ? countIn(inside(cost, 'amount')) : undefined
    if (amount !== undefined) this.turns.setCost(amount)
    const before = tokens === undefined ? undefined : this.compactions.measure(tokens)
    if (before === undefined) return
    yield* this.flush(moment)
    const item = this.compaction(triggerIn(this.turns.current?.prompt), undefined, moment)
    yield { ...item, tokensBefore: before, tokensAfter: tokens }
  }

  /** What stays of the current turn is not stated; everything before it is covered. */
  private compaction(
    trigger: CompactionItem['trigger'],
    named: { readonly id: string; readonly text: string } | undefined,
    { at, where }: AcpMoment,
  ): CompactionItem {
    const turn = this.turns.current
    if (turn !== undefined) turn.compacted = true
    this.compactions.forgetSize()
    const summary = summaryFrom(named?.text)
    const inserted = summary.kind === 'text' ? ({ role: 'user', content: summary.text } as const) : undefined
    const unknown = turn?.ids ?? []
    return {
      kind: 'compaction',
      // Numbers of answers begin again with each connection; the last message does not.
      sourceId: this.ids.idFor(`compaction-${named?.id ?? ''}-${[...this.ids.known].at(-1) ?? ''}`),
      at,
      trigger,
      summary,
      context: contextAfter(inserted),
      ...(unknown.length === 0 ? {} : { unknown: [...unknown] }),
      where,
    }
  }

  private *emit(
    messages: readonly NewMessage[],
    sourceId: string,
    { at, where }: AcpMoment,
    usage?: Usage,
  ): Generator<MessageItem | DamageItem> {
    this.ids.known.add(sourceId)
    this.turns.current?.ids.push(sourceId)
    for (const item of messageItems(messages, { sourceId, at, where, answerId: this.ids.answerId, usage })) {
      yield item.kind === 'message' ? { ...item, ...this.turns.takeEnd() } : item
    }
  }
}
