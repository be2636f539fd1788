/**
 * The current branch of an OpenHands agent's events. The events form a tree: each names its parent, and a user who
 * returns to an earlier event starts a sibling branch. Older events name no parent and follow the previous event.
 */
import type { Condensation } from './openhands-events.js'

/** The data of an event that the branch needs. */
export interface Node {
  readonly id: string
  readonly parent: string | undefined
  readonly isMessage: boolean
  /** Whether it has a position in the model's view, with or without a message. */
  readonly hasPlace: boolean
  readonly condensation?: Condensation | undefined
}

/** The events that a switch to another branch leaves and enters, in the order of the file. */
export interface Step {
  readonly left: readonly Node[]
  readonly joined: readonly Node[]
}

export interface Branch {
  readonly has: (id: string) => boolean
  readonly tip: () => string | undefined
  readonly nodes: () => readonly Node[]
  /** The switch from the tip to another event; undefined is the position before the first event. */
  readonly stepTo: (id: string | undefined) => Step
  readonly go: (step: Step) => void
  readonly append: (node: Node) => void
}

/** Tracks a tree of events. The cost of a switch is proportional to its number of events. */
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
      const sharedLength = at === undefined ? 0 : (placeOf.get(at) ?? -1) + 1
      return { left: path.slice(sharedLength), joined: joined.toReversed() }
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
