/**
 * The branch of events that an agent of OpenHands stands on. Its events form a tree: each names the one before it, and
 * whoever goes back and says something else begins a sibling. Older events name none, and follow the one that was
 * written before them.
 */
import type { Condensation } from './openhands-events.js'

/** What is known of an event that was read. */
export interface Node {
  readonly id: string
  readonly parent: string | undefined
  readonly isMessage: boolean
  /** It takes a place in what the model sees, with a message or without one. */
  readonly hasPlace: boolean
  readonly condensation?: Condensation | undefined
}

/** What a step to another branch leaves and comes to, each in the order of the file. */
export interface Step {
  readonly left: readonly Node[]
  readonly joined: readonly Node[]
}

export interface Branch {
  readonly has: (id: string) => boolean
  readonly ids: () => Iterable<string>
  readonly tip: () => string | undefined
  readonly nodes: () => readonly Node[]
  /** What lies between the tip and another event; undefined is the place before the first event. */
  readonly stepTo: (id: string | undefined) => Step
  readonly go: (step: Step) => void
  readonly append: (node: Node) => void
}

/** Follows a tree of events. A step costs as much as it is long. */
export function createBranch(): Branch {
  const known = new Map<string, Node>()
  const path: Node[] = []
  const placeOf = new Map<string, number>()
  const push = (node: Node): void => {
    placeOf.set(node.id, path.length)
    path.push(node)
  }
  return {
    has: (id) => known.has(id),
    ids: () => known.keys(),
    tip: () => path.at(-1)?.id,
    nodes: () => path,
    stepTo: (id) => {
      const joined: Node[] = []
      let at = id
      while (at !== undefined && !placeOf.has(at)) {
        const node = known.get(at)
        if (node === undefined) break
        joined.push(node)
        at = node.parent
      }
      const kept = at === undefined ? 0 : (placeOf.get(at) ?? -1) + 1
      return { left: path.slice(kept), joined: joined.toReversed() }
    },
    go: ({ left, joined }) => {
      path.splice(path.length - left.length)
      for (const node of left) placeOf.delete(node.id)
      for (const node of joined) push(node)
    },
    append: (node) => {
      known.set(node.id, node)
      push(node)
    },
  }
}
