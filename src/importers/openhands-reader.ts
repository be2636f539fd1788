/**
 * Reads the events of OpenHands, of its SDK and of the first version, one by one. It keeps their ids and their order,
 * and the texts of the summaries that its model sees.
 *
 * A condensation names the events that are forgotten, and the place where a summary is put among those that stayed.
 */
import { hashOf } from '../domain/values/hash.js'
import type { MessageBody } from '../domain/values/message.js'
import { isFields, refusalOf, textIn, timeIn, type Fields } from './bodies.js'
import { createHeld } from './held-messages.js'
import { createBranch, type Node, type Step } from './openhands-branch.js'
import { condensationOf, eventSchema, spokenByV1, type Condensation, type OpenHandsEvent } from './openhands-events.js'
import {
  condensationOfV0,
  hasPlace,
  newPast,
  spokenByV0,
  v0Schema,
  type SpokenV0,
  type V0Event,
} from './openhands-trajectory.js'
import type {
  CompactionItem,
  ContextEntry,
  MessageItem,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
  Where,
} from './transcript.js'

/** What the model sees: an event, or a summary that a condensation put there. */
interface Seen {
  readonly id: string
  readonly isMessage: boolean
  readonly inserted?: MessageBody | undefined
}

const summaryId = (id: string): string => `${id}-summary`

/**
 * What the model sees behind a condensation.
 * @param isOneSummary in the first version only the latest summary is shown
 */
function condensed(seen: readonly Seen[], id: string, condensation: Condensation, isOneSummary: boolean): Seen[] {
  const { forgotten, summary, offset } = condensation
  const puts = summary !== undefined && offset !== undefined
  const kept = seen.filter(
    (entry) => !forgotten.has(entry.id) && !(isOneSummary && puts && entry.inserted !== undefined),
  )
  if (!puts) return kept
  const body: MessageBody = { role: 'user', content: summary }
  return kept.toSpliced(Math.min(offset, kept.length), 0, { id: summaryId(id), isMessage: false, inserted: body })
}

const entryOf = (seen: Seen, newest: string): readonly ContextEntry[] => {
  if (seen.inserted !== undefined)
    return [{ kind: 'inserted', body: seen.inserted, ...(seen.id === newest ? { isSummary: true as const } : {}) }]
  return seen.isMessage ? [{ kind: 'message', sourceId: seen.id }] : []
}

const leftOut = (what: string, where: Where): TranscriptItem => ({ kind: 'left-out', what, where })

const triggerOf = (reason: unknown, source: unknown): CompactionItem['trigger'] => {
  if (reason === 'manual' || reason === 'context_limit') return reason === 'manual' ? 'manual' : 'overflow'
  return source === 'user' ? 'manual' : 'unknown'
}

/** A conversation's id as OpenHands writes it, which as the name of a folder has no dashes. */
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

/** Whether a value is the state of a conversation, which lies beside its events. */
export const isBaseState = (value: unknown): value is Fields =>
  isFields(value) &&
  typeof value['id'] === 'string' &&
  isFields(value['agent']) &&
  value['execution_status'] !== undefined

/** What an event is, before it is known where it stands. */
interface Arriving {
  readonly id: string
  readonly node: Omit<Node, 'id' | 'parent'>
  readonly parent: string | undefined
  readonly spoken: SpokenV0 | undefined
  readonly what: string
  readonly isFirstVersion: boolean
  readonly at: string | undefined
}

/** Reads the events of OpenHands. */
export function openhandsReader(): TranscriptReader {
  const branch = createBranch()
  const held = createHeld()
  const past = newPast()
  let base: Fields | undefined
  let seen: Seen[] = []
  let lastRead: string | undefined
  let isFirstVersion = false
  let trigger: CompactionItem['trigger'] = 'auto'
  let here: Where | undefined

  function* begin(sourceId: string, startedAt: string | undefined, where: Where): Generator<TranscriptItem> {
    const workspace = base?.['workspace']
    yield {
      kind: 'conversation',
      sourceId,
      cwd: isFields(workspace) ? textIn(workspace['working_dir']) : undefined,
      startedAt,
      where,
    }
  }

  /** What the model sees on a branch, from its beginning. */
  function seenOn(nodes: readonly Node[]): Seen[] {
    let all: Seen[] = []
    for (const { id, condensation, isMessage, hasPlace: takesPlace } of nodes) {
      if (takesPlace) all.push({ id, isMessage })
      if (condensation !== undefined) all = condensed(all, id, condensation, isFirstVersion)
    }
    return all
  }

  /** What a step to another branch says: what is undone, what is withdrawn, and what comes back. */
  function* saidByStep({ left, joined }: Step, where: Where): Generator<TranscriptItem> {
    const ids = (nodes: readonly Node[]): string[] => nodes.map(({ id }) => id)
    const undone = ids(left.filter(({ condensation }) => condensation !== undefined)).toReversed()
    const withdrawn = ids(left.filter(({ isMessage }) => isMessage))
    if (undone.length > 0) yield { kind: 'undo', sourceIds: undone, where }
    if (withdrawn.length > 0) yield { kind: 'withdrawal', sourceIds: withdrawn, where }
    for (const { id, isMessage, condensation } of joined) {
      if (!isMessage && condensation === undefined) continue
      const items = held.of(id)
      if (items === undefined) yield leftOut('return to a branch that was left long ago', where)
      else yield* items
    }
  }

  function* goTo(parent: string | undefined, where: Where): Generator<TranscriptItem> {
    if (parent === branch.tip()) return
    const step = branch.stepTo(parent)
    yield* saidByStep(step, where)
    branch.go(step)
    const changesView = [...step.left, ...step.joined].some((node) => node.hasPlace || node.condensation !== undefined)
    if (changesView) seen = seenOn(branch.nodes())
  }

  function compactionOf({ id, node, at }: Arriving, condensation: Condensation, where: Where): CompactionItem {
    const { summary, forgotten } = condensation
    const isKnown = (event: string): boolean =>
      branch.has(event) || (event.endsWith('-summary') && branch.has(event.slice(0, -'-summary'.length)))
    return {
      kind: 'compaction',
      sourceId: id,
      at,
      trigger,
      summary: summary === undefined ? { kind: 'none' } : { kind: 'text', text: summary },
      context: condensed(seen, id, node.condensation ?? condensation, isFirstVersion).flatMap((entry) =>
        entryOf(entry, summaryId(id)),
      ),
      ...([...forgotten].every(isKnown) ? {} : { coversMissing: true }),
      where,
    }
  }

  function* arrive(arriving: Arriving, where: Where): Generator<TranscriptItem> {
    const { id, spoken, node, what } = arriving
    if (branch.has(id)) {
      yield leftOut(`${what}, repeated`, where)
      return
    }
    if (lastRead === undefined) {
      isFirstVersion = arriving.isFirstVersion
      const own = isFirstVersion ? hashOf([id, arriving.at ?? '', spoken?.body.content ?? '']).slice(0, 16) : id
      yield* begin(baseId(base) ?? folderId(where.file) ?? own, arriving.at, where)
    }
    here = where
    // A parent that was not read stood in a record that is damaged, or before the beginning of the file.
    const given = arriving.parent
    const isRoot = given === '__root__'
    const parent = isRoot ? undefined : given === undefined ? lastRead : branch.has(given) ? given : branch.tip()
    lastRead = id
    yield* goTo(parent, where)
    const refusal = spoken === undefined ? undefined : refusalOf(spoken.body)
    const isMessage = spoken !== undefined && refusal === undefined
    if (node.condensation !== undefined) {
      const item = compactionOf(arriving, node.condensation, where)
      trigger = 'auto'
      yield item
      held.keep(id, [item])
      seen = condensed(seen, id, node.condensation, isFirstVersion)
    } else if (isMessage) {
      const item: MessageItem = { kind: 'message', sourceId: id, part: 0, ...spoken, where }
      yield item
      held.keep(id, [item])
    } else if (refusal === undefined) yield leftOut(what, where)
    else yield { kind: 'damage', detail: `says what no message can hold: ${refusal}`, isCut: false, where }
    if (node.hasPlace) seen.push({ id, isMessage })
    branch.append({ ...node, id, parent, isMessage })
  }

  function* takeV1(event: OpenHandsEvent, where: Where): Generator<TranscriptItem> {
    if (event.kind === 'CondensationRequest') trigger = triggerOf(event['reason'], event.source)
    const spoken = spokenByV1(event)
    yield* arrive(
      {
        id: event.id ?? where.path ?? `${where.file}:${String(where.line ?? 0)}`,
        node: {
          isMessage: spoken !== undefined,
          hasPlace: spoken !== undefined,
          condensation: event.kind === 'Condensation' ? condensationOf(event) : undefined,
        },
        parent: event.parent_id,
        spoken,
        what: event.kind,
        isFirstVersion: false,
        at: timeIn(event.timestamp),
      },
      where,
    )
  }

  function* takeV0(event: V0Event, where: Where): Generator<TranscriptItem> {
    if (event.action === 'condensation_request') trigger = triggerOf(undefined, event.source)
    const spoken = spokenByV0(event, past)
    const isCondensation = event.action === 'condensation'
    yield* arrive(
      {
        id: String(event.id),
        node: {
          isMessage: spoken !== undefined,
          hasPlace: hasPlace(event),
          condensation: isCondensation ? condensationOfV0(event, branch.ids()) : undefined,
        },
        parent: undefined,
        spoken,
        what: event.action ?? event.observation ?? 'event',
        isFirstVersion: true,
        at: timeIn(event.timestamp),
      },
      where,
    )
  }

  function* takeOne(value: unknown, where: Where): Generator<TranscriptItem> {
    if (isBaseState(value)) {
      base = value
      yield leftOut('base_state', where)
      return
    }
    const event = eventSchema.safeParse(value)
    if (event.success) {
      yield* takeV1(event.data, where)
      return
    }
    const first = v0Schema.safeParse(value)
    if (first.success) yield* takeV0(first.data, where)
    else yield leftOut(isFields(value) ? 'event of no kind' : typeof value, where)
  }

  function* take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    if (!Array.isArray(value)) yield* takeOne(value, where)
    else
      for (const [at, one] of value.entries())
        yield* takeOne(one, { ...where, path: `${where.path ?? ''}[${String(at)}]` })
  }

  /** Where the agent stands, which only the state beside the events tells. */
  function* end(): Generator<TranscriptItem> {
    if (base === undefined || here === undefined) return
    const leaf = textIn(base['leaf_event_id'])
    if (leaf === undefined ? base['head_is_empty'] !== true : !branch.has(leaf)) return
    yield* saidByStep(branch.stepTo(leaf), here)
  }

  return { take, end }
}
