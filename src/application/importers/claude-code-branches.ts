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

/** The tree of a conversation, empty at first. */
export class Branches {
  /** The latest position of each message. */
  readonly #positions = new Map<string, Position>()
  /**
   * For records without a message: the message or compaction to which they are attached; undefined for the beginning.
   */
  readonly #silent = new Map<string, string | undefined>()
  /**
   * For a compaction and for its summary: the last position that it retained. A record that names either as its parent
   * is attached there.
   */
  readonly #ends = new Map<string, Position>()
  readonly #contexts = new Map<Position, readonly Position[]>()
  readonly #lastOfGroup = new Map<string, Position>()
  #tip: Position | undefined
  #live: Position[] = []
  /** The index of each position in `#live`. */
  #indexes = new Map<Position, number>()

  /** The last position of the branch; undefined if the branch is empty. */
  get tip(): Position | undefined {
    return this.#tip
  }

  /** The model's context: everything since the last compaction, including the entries that it retained. */
  get live(): readonly Position[] {
    return this.#live
  }

  isLive(id: string): boolean {
    return this.#liveOf(this.#positions.get(id)) !== undefined
  }

  /** Whether the last message of this group is on the branch. */
  isGroupLive(group: string): boolean {
    const last = this.#lastOfGroup.get(group)
    return last !== undefined && this.#indexes.has(last)
  }

  /** Whether a record of this id was read. */
  knows(id: string): boolean {
    return this.#positions.has(id) || this.#silent.has(id) || this.#ends.has(id)
  }

  /** The position of a message, on the current branch if possible. */
  find(id: string): Position | undefined {
    const latest = this.#positions.get(id)
    return this.#liveOf(latest) ?? latest
  }

  /** The position to which a record with this parent id is attached. */
  parent(id: string | null | undefined): Parent {
    if (id === null || id === undefined || id === '') return 'beginning'
    const position = this.#ends.get(id) ?? this.find(id)
    if (position !== undefined) return position
    if (!this.#silent.has(id)) return 'unknown'
    const attachedTo = this.#silent.get(id)
    return attachedTo === undefined ? 'beginning' : (this.#ends.get(attachedTo) ?? this.find(attachedTo) ?? 'unknown')
  }

  /**
   * The last position of the group that contains this one.
   * @param answerOnly ignores the program's notes after the answer
   */
  endOf(position: Position, answerOnly: boolean): Position {
    const run: Position[] = []
    const index = this.#indexes.get(position)
    if (index !== undefined) {
      for (let next = index + 1; this.#live[next]?.group === position.group; next += 1) {
        const each = this.#live[next]
        if (each !== undefined) run.push(each)
      }
    } else {
      let each = this.#lastOfGroup.get(position.group)
      for (; each !== undefined && each !== position && each.group === position.group; each = each.before)
        run.unshift(each)
      if (each !== position) return position
    }
    return (answerOnly ? run.findLast(({ isAnswer }) => isAnswer) : run.at(-1)) ?? position
  }

  /** Whether a compaction is active. */
  isCompacted(): boolean {
    return chainTo(this.#tip).some(isCompaction)
  }

  append(message: NewMessage): void {
    const position = this.#positionAfter(message, this.#tip)
    this.#add(position)
    this.#indexes.set(position, this.#live.length)
    this.#live.push(position)
    this.#tip = position
  }

  /** Adds a message to another branch without switching to it. */
  appendToOtherBranch(message: NewMessage, before: Position): void {
    this.#add(this.#positionAfter(message, before))
  }

  /** Notes a record without a message. Later records may name it as their parent. */
  noteSilent(id: string, parentId: string | null | undefined): void {
    // Some records of the program have no parent (a hook at the start of a resumed session). They are not a rewind.
    const found = this.parent(parentId)
    if (found === 'unknown' || ((parentId ?? '') === '' && found === 'beginning')) this.#silent.set(id, this.#tip?.id)
    else this.#silent.set(id, found === 'beginning' ? undefined : found.id)
  }

  /** Like `noteSilent`, for a record between a compaction boundary and its summary. */
  noteSilentAfterBoundary(id: string, compactionId: string): void {
    this.#silent.set(id, compactionId)
  }

  goTo(position: Position | undefined): readonly Step[] {
    if (position === this.#tip) return []
    const steps = stepsBetween(
      chainTo(this.#tip),
      chainTo(position),
      (compaction) => this.#contexts.get(compaction) ?? [],
    )
    this.#settle(position)
    return steps
  }

  /** @param summaryId the record with the summary, which later ones may name as their parent */
  compact(id: string, summaryId: string | undefined, retained: readonly RetainedEntry[]): void {
    const compaction: Position = {
      id,
      kind: 'compaction',
      before: this.#tip,
      earlier: undefined,
      group: id,
      isAnswer: false,
      parentId: '',
    }
    let before = compaction
    const context = retained.map((each): Position => {
      const known = this.find(each.id)
      const { group, isAnswer, parentId } = known ?? { group: each.id, isAnswer: false, parentId: '' }
      before = { ...each, before, earlier: this.#positions.get(each.id), group, isAnswer, parentId }
      return before
    })
    for (const position of context) if (position.kind !== 'missing') this.#add(position)
    this.#contexts.set(compaction, context)
    this.#ends.set(id, before)
    if (summaryId !== undefined) this.#ends.set(summaryId, before)
    this.#settle(before)
  }

  #add(position: Position): void {
    this.#positions.set(position.id, position)
    this.#lastOfGroup.set(position.group, position)
  }

  /** Reuses strings that are already in memory: in a long file they account for most of the memory used. */
  #positionAfter({ id, group, isAnswer, parentId }: NewMessage, before: Position | undefined): Position {
    return {
      id,
      kind: 'message',
      before,
      earlier: this.#positions.get(id),
      group: group === id ? id : (this.#lastOfGroup.get(group)?.group ?? group),
      isAnswer,
      parentId: parentId === this.#tip?.id ? this.#tip.id : parentId,
    }
  }

  #settle(position: Position | undefined): void {
    this.#tip = position
    this.#live = []
    for (let each = position; each !== undefined && !isCompaction(each); each = each.before) this.#live.push(each)
    this.#live.reverse()
    this.#indexes = new Map(this.#live.map((each, index) => [each, index]))
  }

  /** The latest position of a message on the current branch. */
  #liveOf(latest: Position | undefined): Position | undefined {
    let position = latest
    while (position !== undefined && !this.#indexes.has(position)) position = position.earlier
    return position
  }
}
