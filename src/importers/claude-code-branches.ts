/**
 * The tree of one Claude Code conversation. Each record names its parent; a rewind or a retry begins a new branch. This
 * module tracks which messages are on the current branch, and computes the changes when the program switches to another
 * branch. It handles ids only, no texts.
 *
 * The branch is not a plain walk along the parents. The parallel calls of one answer are on different branches of the
 * tree, so their results would exclude each other. Therefore a message, the results of its calls and the program's
 * notes about them form one group, and no message of a group is removed alone.
 */

/** A position in the tree. The same message has one position for each context that contains it. */
export interface Position {
  /** Id of the record. */
  readonly id: string
  readonly kind: 'message' | 'inserted' | 'missing' | 'compaction'
  readonly before: Position | undefined
  /** The previous position of the same message. */
  readonly earlier: Position | undefined
  readonly group: string
  /** True for a line of the model's answer or a result of its calls. */
  readonly isAnswer: boolean
  /** The parent id in the message's record. */
  readonly parentId: string
}

/** A message to add to the tree. */
type NewMessage = Pick<Position, 'id' | 'group' | 'isAnswer' | 'parentId'>

/** An entry of the context that a compaction retained. */
export interface RetainedEntry {
  readonly id: string
  readonly kind: 'message' | 'inserted' | 'missing'
}

/** The changes when the program switches to another branch, in this order. */
export type Step =
  | { readonly kind: 'undo'; readonly ids: readonly string[] }
  | { readonly kind: 'withdraw'; readonly ids: readonly string[] }
  /** A message or a compaction that is active again. */
  | { readonly kind: 'restore'; readonly id: string }

/** The parent of a record: a position, the beginning, or unknown because it is not in this file. */
type Parent = Position | 'beginning' | 'unknown'

export interface Branches {
  /** The last position of the branch; undefined if the branch is empty. */
  tip(): Position | undefined
  /** The model's context: everything since the last compaction, including the entries that it retained. */
  live(): readonly Position[]
  isLive(id: string): boolean
  /** Whether the last message of this group is on the branch. */
  isGroupLive(group: string): boolean
  /** Whether a record of this id was read. */
  knows(id: string): boolean
  /** The position of a message, on the current branch if possible. */
  find(id: string): Position | undefined
  /** The position to which a record with this parent id is attached. */
  parent(id: string | null | undefined): Parent
  /**
   * The last position of the group that contains this one.
   * @param answerOnly ignores the program's notes after the answer
   */
  endOf(position: Position, answerOnly: boolean): Position
  /** Whether a compaction is active. */
  isCompacted(): boolean
  append(message: NewMessage): void
  /** Adds a message to another branch without switching to it. */
  appendToOtherBranch(message: NewMessage, at: Position): void
  /** Notes a record without a message. Later records may name it as their parent. */
  noteSilent(id: string, parentId: string | null | undefined): void
  /** Like `noteSilent`, for a record between a compaction boundary and its summary. */
  noteSilentAfterBoundary(id: string, compactionId: string): void
  goTo(position: Position | undefined): readonly Step[]
  /** @param summaryId the record with the summary, which later ones may name as their parent */
  compact(id: string, summaryId: string | undefined, retained: readonly RetainedEntry[]): void
}

const isCompaction = ({ kind }: Position): boolean => kind === 'compaction'

/** All positions from the beginning to this one. */
function chainTo(position: Position | undefined): Position[] {
  const chain: Position[] = []
  for (let at = position; at !== undefined; at = at.before) chain.push(at)
  return chain.toReversed()
}

const messagesOf = (positions: readonly Position[]): string[] => [
  ...new Set(positions.filter(({ kind }) => kind === 'message').map(({ id }) => id)),
]

/** @param contextOf returns the positions that a compaction retained, in order */
function stepsBetween(
  from: readonly Position[],
  to: readonly Position[],
  contextOf: (compaction: Position) => readonly Position[],
): Step[] {
  const firstDifferent = from.findIndex((position, at) => position !== to[at])
  const common = firstDifferent === -1 ? from.length : firstDifferent
  const start = from.slice(0, common).findLastIndex(isCompaction) + 1
  const exited = from.slice(common)
  const entered = to.slice(common)
  const undone = exited.filter(isCompaction).map(({ id }) => id)
  const firstRestored = entered.findIndex(isCompaction)
  const steps: Step[] = []
  if (undone.length > 0) steps.push({ kind: 'undo', ids: undone.toReversed() })
  // After an undo, the messages that the compaction had covered are back in the context.
  const wasPresent = new Set(messagesOf(from.slice(start)))
  const stays = new Set(
    messagesOf([...to.slice(start, common), ...(firstRestored === -1 ? entered : entered.slice(0, firstRestored))]),
  )
  const removed = [...wasPresent].filter((id) => !stays.has(id))
  if (removed.length > 0) steps.push({ kind: 'withdraw', ids: removed })
  let present = new Set([...wasPresent].filter((id) => stays.has(id)))
  for (const position of entered) {
    if (isCompaction(position)) {
      steps.push({ kind: 'restore', id: position.id })
      present = new Set(messagesOf(contextOf(position)))
    } else if (position.kind === 'message' && !present.has(position.id)) {
      steps.push({ kind: 'restore', id: position.id })
      present.add(position.id)
    }
  }
  const last = firstRestored === -1 ? undefined : entered.findLastIndex(isCompaction)
  const beyond = last === undefined ? [] : [...present].filter((id) => !messagesOf(entered.slice(last)).includes(id))
  if (beyond.length > 0) steps.push({ kind: 'withdraw', ids: beyond })
  return steps
}

/** Creates the tree of an empty conversation. */
export function createBranches(): Branches {
  /** The latest position of each message. */
  const positions = new Map<string, Position>()
  /**
   * For records without a message: the message or compaction to which they are attached; undefined for the beginning.
   */
  const passed = new Map<string, string | undefined>()
  /**
   * For a compaction and for its summary: the last position that it retained. A record that names either as its parent
   * is attached there.
   */
  const ends = new Map<string, Position>()
  const contexts = new Map<Position, readonly Position[]>()
  const lastOf = new Map<string, Position>()
  let tip: Position | undefined
  let live: Position[] = []
  let at = new Map<Position, number>()

  const add = (position: Position): void => {
    positions.set(position.id, position)
    lastOf.set(position.group, position)
  }
  /** Reuses strings that are already in memory: in a long file they account for most of the memory used. */
  const placeOf = ({ id, group, isAnswer, parentId }: NewMessage, before: Position | undefined): Position => ({
    id,
    kind: 'message',
    before,
    earlier: positions.get(id),
    group: group === id ? id : (lastOf.get(group)?.group ?? group),
    isAnswer,
    parentId: parentId === tip?.id ? tip.id : parentId,
  })
  const settle = (position: Position | undefined): void => {
    tip = position
    live = []
    for (let each = position; each !== undefined && !isCompaction(each); each = each.before) live.push(each)
    live.reverse()
    at = new Map(live.map((each, index) => [each, index]))
  }
  /** The latest position of a message on the current branch. */
  const liveOf = (latest: Position | undefined): Position | undefined => {
    let position = latest
    while (position !== undefined && !at.has(position)) position = position.earlier
    return position
  }
  const find = (id: string): Position | undefined => {
    const latest = positions.get(id)
    return liveOf(latest) ?? latest
  }
  const parent: Branches['parent'] = (id) => {
    if (id === null || id === undefined || id === '') return 'beginning'
    const position = ends.get(id) ?? find(id)
    if (position !== undefined) return position
    if (!passed.has(id)) return 'unknown'
    const hangsOn = passed.get(id)
    return hangsOn === undefined ? 'beginning' : (ends.get(hangsOn) ?? find(hangsOn) ?? 'unknown')
  }

  return {
    tip: () => tip,
    live: () => live,
    isLive: (id) => liveOf(positions.get(id)) !== undefined,
    isGroupLive: (group) => {
      const last = lastOf.get(group)
      return last !== undefined && at.has(last)
    },
    knows: (id) => positions.has(id) || passed.has(id) || ends.has(id),
    find,
    parent,
    endOf: (position, answerOnly) => {
      const run: Position[] = []
      const index = at.get(position)
      if (index !== undefined) {
        for (let next = index + 1; live[next]?.group === position.group; next += 1) {
          const each = live[next]
          if (each !== undefined) run.push(each)
        }
      } else {
        let each = lastOf.get(position.group)
        for (; each !== undefined && each !== position && each.group === position.group; each = each.before)
          run.unshift(each)
        if (each !== position) return position
      }
      return (answerOnly ? run.findLast(({ isAnswer }) => isAnswer) : run.at(-1)) ?? position
    },
    isCompacted: () => chainTo(tip).some(isCompaction),
    append: (message) => {
      const position = placeOf(message, tip)
      add(position)
      at.set(position, live.length)
      live.push(position)
      tip = position
    },
    appendToOtherBranch: (message, before) => {
      add(placeOf(message, before))
    },
    noteSilent: (id, parentId) => {
      // Some records of the program have no parent (a hook at the start of a resumed session). They are not a rewind.
      const found = parent(parentId)
      if (found === 'unknown' || ((parentId ?? '') === '' && found === 'beginning')) passed.set(id, tip?.id)
      else passed.set(id, found === 'beginning' ? undefined : found.id)
    },
    noteSilentAfterBoundary: (id, compactionId) => {
      passed.set(id, compactionId)
    },
    goTo: (position) => {
      if (position === tip) return []
      const steps = stepsBetween(chainTo(tip), chainTo(position), (compaction) => contexts.get(compaction) ?? [])
      settle(position)
      return steps
    },
    compact: (id, summaryId, retained) => {
      const compaction: Position = {
        id,
        kind: 'compaction',
        before: tip,
        earlier: undefined,
        group: id,
        isAnswer: false,
        parentId: '',
      }
      let before = compaction
      const context = retained.map((each): Position => {
        const known = find(each.id)
        const { group, isAnswer, parentId } = known ?? { group: each.id, isAnswer: false, parentId: '' }
        before = { ...each, before, earlier: positions.get(each.id), group, isAnswer, parentId }
        return before
      })
      for (const position of context) if (position.kind !== 'missing') add(position)
      contexts.set(compaction, context)
      ends.set(id, before)
      if (summaryId !== undefined) ends.set(summaryId, before)
      settle(before)
    },
  }
}
