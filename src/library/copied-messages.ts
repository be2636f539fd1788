/**
 * Finds out which recorded messages each message of a written session is a copy of, so that erasing an
 * original also erases its copy. A message that cannot be attributed counts as a copy of all of them.
 */
import { contentText, type Role } from '../domain/values/message.js'
import { COPY_OF, type CopyOf } from '../domain/values/copy-of.js'
import type { MessageItem, TranscriptItem } from '../application/importers/transcript.js'
import type { HandoffPlan } from '../application/handoff/plan.js'
import type { SessionTurn } from '../application/handoff/session.js'

/** A message of the written session, as the plan has it. */
interface PlannedMessage {
  readonly role: Role
  readonly sources: readonly string[]
}

/** Characters by which a message with the handover is recognized: its opening names the conversation. */
const OPENING = 100

const plannedOf = (turn: SessionTurn, sources: readonly string[]): PlannedMessage[] => [
  { role: turn.role, sources },
  ...(turn.role === 'assistant' ? turn.calls.map(() => ({ role: 'tool' as const, sources })) : []),
]

/** Neighbours with the same role, in one list each. */
function runsOf<T>(all: readonly T[], roleOf: (each: T) => Role): T[][] {
  const runs: T[][] = []
  for (const each of all) {
    const last = runs.at(-1)
    const [first] = last ?? []
    if (last !== undefined && first !== undefined && roleOf(first) === roleOf(each)) last.push(each)
    else runs.push([each])
  }
  return runs
}

/** The sources of each message; without an entry, all. */
function attributed(items: readonly MessageItem[], planned: readonly PlannedMessage[]) {
  const sources = new Map<MessageItem, readonly string[]>()
  const runs = runsOf(items, ({ body }) => body.role)
  const plannedRuns = runsOf(planned, ({ role }) => role)
  if (runs.length !== plannedRuns.length) return sources
  for (const [at, run] of runs.entries()) {
    const expected = plannedRuns[at] ?? []
    if (run[0]?.body.role !== expected[0]?.role) return new Map<MessageItem, readonly string[]>()
    const all = [...new Set(expected.flatMap((message) => message.sources))]
    for (const [index, item] of run.entries())
      sources.set(item, run.length === expected.length ? (expected[index]?.sources ?? all) : all)
  }
  return sources
}

/** The attributes and the persons of a copied message. */
export interface Copied {
  readonly attributes: Readonly<Record<string, unknown>>
  readonly subjects?: readonly string[]
}

/**
 * The origin of each message of a written session.
 * @param subjects the persons that the recorded messages name, by message id
 */
export function copiedMessages(
  conversationId: string,
  { turns, sources, handover }: Pick<HandoffPlan, 'turns' | 'sources' | 'handover'>,
  items: readonly TranscriptItem[],
  subjects: ReadonlyMap<string, readonly string[]>,
): (item: MessageItem) => Copied {
  const opening = handover?.slice(0, OPENING)
  const messages = items.filter(
    (item): item is MessageItem =>
      item.kind === 'message' && (opening === undefined || !contentText(item.body.content).includes(opening)),
  )
  const planned = turns.flatMap((turn, at) => plannedOf(turn, sources[at] ?? []))
  const found = attributed(messages, planned)
  return (item) => {
    const messageIds = found.get(item)
    const persons = [...new Set((messageIds ?? [...subjects.keys()]).flatMap((id) => subjects.get(id) ?? []))]
    const source: CopyOf = { conversationId, ...(messageIds === undefined ? {} : { messageIds }) }
    return { attributes: { [COPY_OF]: source }, ...(persons.length === 0 ? {} : { subjects: persons }) }
  }
}
