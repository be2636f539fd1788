/**
 * The tree of one Claude Code conversation. Each record names the one before it; who rewinds or retries begins a branch
 * beside the one that there is. This keeps which messages stand on the branch that the program is on, and says what
 * changes where it goes to another one. It knows ids and no texts.
 *
 * The branch is no pure walk along the parents. Parallel calls of one answer hang on different lines of it, so their
 * results would be each other's rivals; here a message, the results of its calls and what the program said beside them
 * are one group, and within a group nothing leaves.
 */

/** Where something stands. The same message has another place for each context that it came into. */
export interface Place {
  /** Of the record. */
  readonly id: string
  readonly kind: 'message' | 'inserted' | 'missing' | 'compaction'
  readonly before: Place | undefined
  /** The place that the same message had before it had this one. */
  readonly earlier: Place | undefined
  readonly group: string
  /** A line of the model's answer, or a result of its calls. */
  readonly isAnswer: boolean
  /** The parent that the message named when it was said. */
  readonly named: string
}

/** A message, as it is said. */
type Spoken = Pick<Place, 'id' | 'group' | 'isAnswer' | 'named'>

/** What a compaction left in the context. */
export interface Kept {
  readonly id: string
  readonly kind: 'message' | 'inserted' | 'missing'
}

/** What changes where the program goes to another branch, in this order. */
export type Step =
  | { readonly kind: 'undo'; readonly ids: readonly string[] }
  | { readonly kind: 'withdraw'; readonly ids: readonly string[] }
  /** A message, or a compaction, that is back. */
  | { readonly kind: 'again'; readonly id: string }

/** What the parent of a record is: a place, the beginning, or nothing that this file tells of. */
type Parent = Place | 'beginning' | 'unknown'

export interface Branches {
  /** The last place of the branch; undefined where nothing was said. */
  tip(): Place | undefined
  /** What the model is given: what stands behind the last compaction, with what that one left. */
  live(): readonly Place[]
  isLive(id: string): boolean
  /** Whether a message of this group is on the branch. */
  isGroupLive(group: string): boolean
  /** Whether a record of this id was read. */
  knows(id: string): boolean
  /** The place of a message, on this branch where it is there. */
  find(id: string): Place | undefined
  /** Where a record hangs whose parent is this one. */
  parent(id: string | null | undefined): Parent
  /** The last place of what belongs together with this one. @param answerOnly without what the program said behind it */
  endOf(place: Place, answerOnly: boolean): Place
  /** Whether a compaction is in force. */
  isCompacted(): boolean
  say(message: Spoken): void
  /** A message that belongs to another branch, which is not gone to. */
  sayAside(message: Spoken, at: Place): void
  /** A record that says nothing, and that later ones may name as their parent. */
  pass(id: string, parentId: string | null | undefined): void
  /** The same, of one behind the beginning of a compaction that is not said yet. */
  passBehind(id: string, compactionId: string): void
  goTo(place: Place | undefined): readonly Step[]
  /** @param summaryId the record with the summary, which later ones may name as their parent */
  compact(id: string, summaryId: string | undefined, kept: readonly Kept[]): void
}

const isCompaction = ({ kind }: Place): boolean => kind === 'compaction'

/** From the beginning to a place. */
function chainTo(place: Place | undefined): Place[] {
  const chain: Place[] = []
  for (let at = place; at !== undefined; at = at.before) chain.push(at)
  return chain.toReversed()
}

const messagesOf = (places: readonly Place[]): string[] => [
  ...new Set(places.filter(({ kind }) => kind === 'message').map(({ id }) => id)),
]

/** @param contextOf the places that a compaction left, in their order */
function stepsBetween(
  from: readonly Place[],
  to: readonly Place[],
  contextOf: (compaction: Place) => readonly Place[],
): Step[] {
  const apart = from.findIndex((place, at) => place !== to[at])
  const common = apart === -1 ? from.length : apart
  const start = from.slice(0, common).findLastIndex(isCompaction) + 1
  const left = from.slice(common)
  const taken = to.slice(common)
  const undone = left.filter(isCompaction).map(({ id }) => id)
  const firstBack = taken.findIndex(isCompaction)
  const steps: Step[] = []
  if (undone.length > 0) steps.push({ kind: 'undo', ids: undone.toReversed() })
  // What a compaction that is taken back had covered is there again, as if there had been none.
  const there = new Set(messagesOf(from.slice(start)))
  const stays = new Set(
    messagesOf([...to.slice(start, common), ...(firstBack === -1 ? taken : taken.slice(0, firstBack))]),
  )
  const gone = [...there].filter((id) => !stays.has(id))
  if (gone.length > 0) steps.push({ kind: 'withdraw', ids: gone })
  let present = new Set([...there].filter((id) => stays.has(id)))
  for (const place of taken) {
    if (isCompaction(place)) {
      steps.push({ kind: 'again', id: place.id })
      present = new Set(messagesOf(contextOf(place)))
    } else if (place.kind === 'message' && !present.has(place.id)) {
      steps.push({ kind: 'again', id: place.id })
      present.add(place.id)
    }
  }
  const last = firstBack === -1 ? undefined : taken.findLastIndex(isCompaction)
  const beyond = last === undefined ? [] : [...present].filter((id) => !messagesOf(taken.slice(last)).includes(id))
  if (beyond.length > 0) steps.push({ kind: 'withdraw', ids: beyond })
  return steps
}

/** A conversation in which nothing was said. */
export function createBranches(): Branches {
  /** The latest place of each message. */
  const places = new Map<string, Place>()
  /** Of records that say nothing, the message or compaction that they hang on; undefined for the beginning. */
  const passed = new Map<string, string | undefined>()
  /** Of a compaction and of its summary, the last place of what it left: whoever names them as parent comes behind. */
  const ends = new Map<string, Place>()
  const contexts = new Map<Place, readonly Place[]>()
  const lastOf = new Map<string, Place>()
  let tip: Place | undefined
  let live: Place[] = []
  let at = new Map<Place, number>()

  const add = (place: Place): void => {
    places.set(place.id, place)
    lastOf.set(place.group, place)
  }
  /** Texts that are held already are not held twice: in a long file these are most of what is remembered. */
  const placeOf = ({ id, group, isAnswer, named }: Spoken, before: Place | undefined): Place => ({
    id,
    kind: 'message',
    before,
    earlier: places.get(id),
    group: group === id ? id : (lastOf.get(group)?.group ?? group),
    isAnswer,
    named: named === tip?.id ? tip.id : named,
  })
  const settle = (place: Place | undefined): void => {
    tip = place
    live = []
    for (let each = place; each !== undefined && !isCompaction(each); each = each.before) live.push(each)
    live.reverse()
    at = new Map(live.map((each, index) => [each, index]))
  }
  /** The latest of a message's places that is on the branch. */
  const liveOf = (latest: Place | undefined): Place | undefined => {
    let place = latest
    while (place !== undefined && !at.has(place)) place = place.earlier
    return place
  }
  const find = (id: string): Place | undefined => {
    const latest = places.get(id)
    return liveOf(latest) ?? latest
  }
  const parent: Branches['parent'] = (id) => {
    if (id === null || id === undefined || id === '') return 'beginning'
    const place = ends.get(id) ?? find(id)
    if (place !== undefined) return place
    if (!passed.has(id)) return 'unknown'
    const hangsOn = passed.get(id)
    return hangsOn === undefined ? 'beginning' : (ends.get(hangsOn) ?? find(hangsOn) ?? 'unknown')
  }

  return {
    tip: () => tip,
    live: () => live,
    isLive: (id) => liveOf(places.get(id)) !== undefined,
    isGroupLive: (group) => {
      const last = lastOf.get(group)
      return last !== undefined && at.has(last)
    },
    knows: (id) => places.has(id) || passed.has(id) || ends.has(id),
    find,
    parent,
    endOf: (place, answerOnly) => {
      const run: Place[] = []
      const index = at.get(place)
      if (index !== undefined) {
        for (let next = index + 1; live[next]?.group === place.group; next += 1) {
          const each = live[next]
          if (each !== undefined) run.push(each)
        }
      } else {
        let each = lastOf.get(place.group)
        for (; each !== undefined && each !== place && each.group === place.group; each = each.before) run.unshift(each)
        if (each !== place) return place
      }
      return (answerOnly ? run.findLast(({ isAnswer }) => isAnswer) : run.at(-1)) ?? place
    },
    isCompacted: () => chainTo(tip).some(isCompaction),
    say: (message) => {
      const place = placeOf(message, tip)
      add(place)
      at.set(place, live.length)
      live.push(place)
      tip = place
    },
    sayAside: (message, before) => {
      add(placeOf(message, before))
    },
    pass: (id, parentId) => {
      // The program begins some of its own records anew (a hook at the start of a resumed session); no rewind is that.
      const found = parent(parentId)
      if (found === 'unknown' || ((parentId ?? '') === '' && found === 'beginning')) passed.set(id, tip?.id)
      else passed.set(id, found === 'beginning' ? undefined : found.id)
    },
    passBehind: (id, compactionId) => {
      passed.set(id, compactionId)
    },
    goTo: (place) => {
      if (place === tip) return []
      const steps = stepsBetween(chainTo(tip), chainTo(place), (compaction) => contexts.get(compaction) ?? [])
      settle(place)
      return steps
    },
    compact: (id, summaryId, kept) => {
      const compaction: Place = {
        id,
        kind: 'compaction',
        before: tip,
        earlier: undefined,
        group: id,
        isAnswer: false,
        named: '',
      }
      let before = compaction
      const context = kept.map((each): Place => {
        const known = find(each.id)
        const { group, isAnswer, named } = known ?? { group: each.id, isAnswer: false, named: '' }
        before = { ...each, before, earlier: places.get(each.id), group, isAnswer, named }
        return before
      })
      for (const place of context) if (place.kind !== 'missing') add(place)
      contexts.set(compaction, context)
      ends.set(id, before)
      if (summaryId !== undefined) ends.set(summaryId, before)
      settle(before)
    },
  }
}
