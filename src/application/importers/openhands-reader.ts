/**
 * Reads the events of OpenHands one by one, from its SDK and from the first version. It stores their ids and order, and
 * the texts of the summaries that the model sees.
 *
 * A condensation names the events to forget, and the index of the summary in the remaining events.
 */
import { isRecord } from '../../lib/is-record.js'
import { canonicalJson, sha256 } from '../../domain/values/hash.js'
import type { MessageBody } from '../../domain/values/message.js'
import { textIn } from '../../lib/text-in.js'
import { jsonText, refusalOf, timeIn, type Fields, linePlace } from './bodies.js'
import { withDifferentCalls } from './content-part.js'
import type { ContentId } from './content-id.js'
import { createRecentItems } from './recent-items.js'
import { createBranch, type Node, type Step } from './openhands-branch.js'
import { condensationOf, eventSchema, messageOfV1, type Condensation, type OpenHandsEvent } from './openhands-events.js'
import {
  condensationOfV0,
  hasPlace,
  newPast,
  messageOfV0,
  v0Schema,
  type MessageV0,
  type V0Event,
} from './openhands-trajectory.js'
import type {
  CompactionItem,
  ContextEntry,
  MessageItem,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
  SourceLocation,
} from './transcript.js'

/** An entry of the model's view: an event, or a summary from a condensation. */
interface ViewEntry {
  readonly id: string
  readonly isMessage: boolean
  readonly inserted?: MessageBody | undefined
}

const summaryId = (id: string): string => `${id}-summary`

/**
 * The model's view after a condensation.
 * @param isOneSummary the first version shows only the latest summary
 */
function condensedView(
  view: readonly ViewEntry[],
  id: string,
  condensation: Condensation,
  isOneSummary: boolean,
): ViewEntry[] {
  const { forgotten, summary, offset } = condensation
  const insertsSummary = summary !== undefined && offset !== undefined
  const remaining = view.filter(
    (entry) => !forgotten.has(entry.id) && !(isOneSummary && insertsSummary && entry.inserted !== undefined),
  )
  if (!insertsSummary) return remaining
  const body: MessageBody = { role: 'user', content: summary }
  return remaining.toSpliced(Math.min(offset, remaining.length), 0, {
    id: summaryId(id),
    isMessage: false,
    inserted: body,
  })
}

const entryOf = (entry: ViewEntry, newest: string): readonly ContextEntry[] => {
  if (entry.inserted !== undefined)
    return [{ kind: 'inserted', body: entry.inserted, ...(entry.id === newest ? { isSummary: true as const } : {}) }]
  return entry.isMessage ? [{ kind: 'message', sourceId: entry.id }] : []
}

const leftOut = (what: string, where: SourceLocation): TranscriptItem => ({ kind: 'left-out', what, where })

const triggerOf = (reason: unknown, source: unknown): CompactionItem['trigger'] => {
  if (reason === 'manual' || reason === 'context_limit') return reason === 'manual' ? 'manual' : 'overflow'
  return source === 'user' ? 'manual' : 'unknown'
}

/** A conversation id with dashes, as OpenHands writes it. Directory names contain it without dashes. */
const dashed = (id: string): string =>
  /^[0-9a-f]{32}$/iu.test(id) ? id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/u, '$1-$2-$3-$4-$5') : id

const FOLDER = /(?:^|[\\/])(?<id>[^\\/]+)[\\/]events[\\/](?:event-)?\d+[^\\/]*\.json$/u

const folderId = (file: string): string | undefined => {
  const id = FOLDER.exec(file)?.groups?.['id']
  return id === undefined ? undefined : dashed(id)
}

const baseId = (base: Fields | undefined): string | undefined => {
  const id = textIn(base?.['id'])
  return id === undefined ? undefined : dashed(id)
}

/** Whether a value is the state of a conversation, which is a separate file in the conversation's directory. */
export const isBaseState = (value: unknown): value is Fields =>
  isRecord(value) &&
  typeof value['id'] === 'string' &&
  isRecord(value['agent']) &&
  value['execution_status'] !== undefined

/** An event before its position in the tree is known. */
interface IncomingEvent {
  readonly id: string
  readonly node: Omit<Node, 'id' | 'parent'>
  readonly parent: string | undefined
  readonly message: MessageV0 | undefined
  readonly what: string
  readonly isFirstVersion: boolean
  readonly at: string | undefined
}

/** Reads the events of the first version, which numbers them and has no parents. */
class FirstVersion {
  private readonly past = newPast()
  /** Ids by number, and by the hash of each event with it. */
  private readonly ids = new Map<string, Map<string, string>>()

  /** The id of an event. Numbers may begin again, and an event may be written twice. */
  private idOf(event: V0Event): string {
    const number = String(event.id)
    const ids = this.ids.get(number) ?? new Map<string, string>()
    this.ids.set(number, ids)
    const hash = sha256(jsonText(event))
    const id = ids.get(hash) ?? (ids.size === 0 ? number : `${number}.${String(ids.size + 1)}`)
    ids.set(hash, id)
    return id
  }

  /** A condensation with the ids of the newest events that have its numbers. */
  private condensationIn(event: V0Event): Condensation {
    const condensation = condensationOfV0(event, this.ids.keys())
    const newest = (number: string): string => [...(this.ids.get(number)?.values() ?? [])].at(-1) ?? number
    return { ...condensation, forgotten: new Set([...condensation.forgotten].map(newest)) }
  }

  incoming(event: V0Event): IncomingEvent {
    const id = this.idOf(event)
    const message = messageOfV0(event, this.past)
    return {
      id,
      node: {
        isMessage: message !== undefined,
        hasPlace: hasPlace(event),
        condensation: event.action === 'condensation' ? this.condensationIn(event) : undefined,
      },
      parent: undefined,
      message,
      what: event.action ?? event.observation ?? 'event',
      isFirstVersion: true,
      at: timeIn(event.timestamp),
    }
  }
}

function incomingEvent(event: OpenHandsEvent, where: SourceLocation): IncomingEvent {
  const sent = messageOfV1(event)
  const message = sent === undefined ? undefined : { ...sent, body: withDifferentCalls(sent.body) }
  return {
    id: event.id ?? where.path ?? `${where.file}:${linePlace(where) ?? '0'}`,
    node: {
      isMessage: message !== undefined,
      hasPlace: message !== undefined,
      condensation: event.kind === 'Condensation' ? condensationOf(event) : undefined,
    },
    parent: event.parent_id,
    message,
    what: event.kind,
    isFirstVersion: false,
    at: timeIn(event.timestamp),
  }
}

class OpenHandsReader implements TranscriptReader {
  private readonly branch = createBranch()
  private readonly recentItems = createRecentItems()
  private readonly firstVersion = new FirstVersion()
  private base: Fields | undefined
  private view: ViewEntry[] = []
  private lastRead: string | undefined
  private isFirstVersion = false
  private trigger: CompactionItem['trigger'] = 'auto'
  private lastWhere: SourceLocation | undefined

  constructor(private readonly contentId: ContentId) {}

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    if (!Array.isArray(value)) yield* this.takeOne(value, where)
    else
      for (const [at, one] of value.entries())
        yield* this.takeOne(one, { ...where, path: `${where.path ?? ''}[${String(at)}]` })
  }

  /** Switches to the agent's current event, which only the state file contains. */
  *end(): Generator<TranscriptItem> {
    if (this.base === undefined || this.lastWhere === undefined) return
    const leaf = textIn(this.base['leaf_event_id'])
    if (leaf === undefined ? this.base['head_is_empty'] !== true : !this.branch.has(leaf)) return
    yield* this.switchItems(this.branch.stepTo(leaf), this.lastWhere)
  }

  private *begin(sourceId: string, startedAt: string | undefined, where: SourceLocation): Generator<TranscriptItem> {
    const workspace = this.base?.['workspace']
    yield {
      kind: 'conversation',
      sourceId,
      cwd: isRecord(workspace) ? textIn(workspace['working_dir']) : undefined,
      startedAt,
      where,
    }
  }

  /** The model's view of a branch, from its beginning. */
  private viewOf(nodes: readonly Node[]): ViewEntry[] {
    let all: ViewEntry[] = []
    for (const { id, condensation, isMessage, hasPlace: takesPlace } of nodes) {
      if (takesPlace) all.push({ id, isMessage })
      if (condensation !== undefined) all = condensedView(all, id, condensation, this.isFirstVersion)
    }
    return all
  }

  /** Yields the changes of a switch to another branch: undone compactions, withdrawn messages and restored items. */
  private *switchItems({ left, joined }: Step, where: SourceLocation): Generator<TranscriptItem> {
    const ids = (nodes: readonly Node[]): string[] => nodes.map(({ id }) => id)
    const undone = ids(left.filter(({ condensation }) => condensation !== undefined)).toReversed()
    const withdrawn = ids(left.filter(({ isMessage }) => isMessage))
    if (undone.length > 0) yield { kind: 'undo', sourceIds: undone, where }
    if (withdrawn.length > 0) yield { kind: 'withdrawal', sourceIds: withdrawn, where }
    for (const { id, isMessage, condensation } of joined) {
      if (!isMessage && condensation === undefined) continue
      const items = this.recentItems.of(id)
      if (items === undefined) yield leftOut('return to a branch that was left long ago', where)
      else yield* items
    }
  }

  private *goTo(parent: string | undefined, where: SourceLocation): Generator<TranscriptItem> {
    if (parent === this.branch.tip()) return
    const step = this.branch.stepTo(parent)
    yield* this.switchItems(step, where)
    this.branch.go(step)
    const changesView = [...step.left, ...step.joined].some((node) => node.hasPlace || node.condensation !== undefined)
    if (changesView) this.view = this.viewOf(this.branch.nodes())
  }

  private compactionOf(
    { id, node, at }: IncomingEvent,
    condensation: Condensation,
    where: SourceLocation,
  ): CompactionItem {
    const { summary, forgotten } = condensation
    const isKnown = (event: string): boolean =>
      this.branch.has(event) || (event.endsWith('-summary') && this.branch.has(event.slice(0, -'-summary'.length)))
    return {
      kind: 'compaction',
      sourceId: id,
      at,
      trigger: this.trigger,
      summary: summary === undefined ? { kind: 'none' } : { kind: 'text', text: summary },
      context: condensedView(this.view, id, node.condensation ?? condensation, this.isFirstVersion).flatMap((entry) =>
        entryOf(entry, summaryId(id)),
      ),
      ...([...forgotten].every(isKnown) ? {} : { coversMissing: true }),
      where,
    }
  }

  private *add(incoming: IncomingEvent, where: SourceLocation): Generator<TranscriptItem> {
    const { id, message, node, what } = incoming
    if (this.branch.has(id)) {
      yield leftOut(`${what}, repeated`, where)
      return
    }
    if (this.lastRead === undefined) {
      this.isFirstVersion = incoming.isFirstVersion
      const derivedId = this.isFirstVersion
        ? this.contentId(canonicalJson([id, incoming.at ?? '', message?.body.content ?? '']))
        : id
      yield* this.begin(baseId(this.base) ?? folderId(where.file) ?? derivedId, incoming.at, where)
    }
    this.lastWhere = where
    // An unknown parent was in a damaged record, or before the beginning of the file.
    const named = incoming.parent
    const isRoot = named === '__root__'
    const parent = isRoot
      ? undefined
      : named === undefined
        ? this.lastRead
        : this.branch.has(named)
          ? named
          : this.branch.tip()
    this.lastRead = id
    yield* this.goTo(parent, where)
    const refusal = message === undefined ? undefined : refusalOf(message.body)
    const isMessage = message !== undefined && refusal === undefined
    if (node.condensation !== undefined) {
      const item = this.compactionOf(incoming, node.condensation, where)
      this.trigger = 'auto'
      yield item
      this.recentItems.keep(id, [item])
      this.view = condensedView(this.view, id, node.condensation, this.isFirstVersion)
    } else if (isMessage) {
      const item: MessageItem = { kind: 'message', sourceId: id, part: 0, ...message, where }
      yield item
      this.recentItems.keep(id, [item])
    } else if (refusal === undefined) yield leftOut(what, where)
    else yield { kind: 'damage', detail: `says what no message can hold: ${refusal}`, isCut: false, where }
    if (node.hasPlace) this.view.push({ id, isMessage })
    this.branch.append({ ...node, id, parent, isMessage })
  }

  private *takeOne(value: unknown, where: SourceLocation): Generator<TranscriptItem> {
    if (isBaseState(value)) {
      this.base = value
      yield leftOut('base_state', where)
      return
    }
    const event = eventSchema.safeParse(value)
    if (event.success) {
      if (event.data.kind === 'CondensationRequest') this.trigger = triggerOf(event.data['reason'], event.data.source)
      yield* this.add(incomingEvent(event.data, where), where)
      return
    }
    const first = v0Schema.safeParse(value)
    if (first.success) {
      if (first.data.action === 'condensation_request') this.trigger = triggerOf(undefined, first.data.source)
      yield* this.add(this.firstVersion.incoming(first.data), where)
    } else yield leftOut(isRecord(value) ? 'event of no kind' : typeof value, where)
  }
}

export const openhandsReader = (_path: string, contentId: ContentId): TranscriptReader => new OpenHandsReader(contentId)
