/** Collects operations on a working state, and has the state after each of them. */
import { applyOperations, freeItemId, groupsOf, isEnded, type ItemGroup } from './working-state.js'
import type { StateItem, StateItemKind, StateOperation, WorkingState } from '../events/index.js'

/** An item without its id, which follows from its kind and its first source. */
export type NewItem = Omit<StateItem, 'id'>

type ReplacedWords = Pick<StateItem, 'text' | 'sourceRevisions' | 'reason' | 'next' | 'files'>

export class StateEditor {
  readonly #operations: StateOperation[] = []
  readonly #taken: Set<string>
  #state: WorkingState

  constructor(before: WorkingState) {
    this.#state = before
    this.#taken = new Set(before.items.map(({ id }) => id))
  }

  get state(): WorkingState {
    return this.#state
  }

  get operations(): readonly StateOperation[] {
    return this.#operations
  }

  get groups(): readonly ItemGroup[] {
    return groupsOf(this.#state)
  }

  /** The items of a kind that are in force. */
  ofKind(kind: StateItemKind): readonly StateItem[] {
    return this.#state.items.filter((item) => item.kind === kind && !isEnded(item))
  }

  add(item: NewItem): StateItem {
    const id = freeItemId(item.kind, item.sourceRevisions[0] ?? 0, this.#taken)
    this.#taken.add(id)
    const added = { id, ...item }
    this.#apply({ op: 'add', item: added })
    return added
  }

  /** Gives an item other words, without those that are left out. */
  replace({ id }: StateItem, words: ReplacedWords): void {
    this.#apply({ op: 'replace', id, ...words })
  }

  /** @param by the later statement */
  correct(item: StateItem, by: StateItem): void {
    this.#apply({ op: 'correct', id: item.id, by: by.id })
  }

  /** @param by revision of the message that ended the item */
  close(item: StateItem, by: number): void {
    this.#apply({ op: 'close', id: item.id, endedAt: by })
  }

  drop(item: StateItem): void {
    this.#apply({ op: 'drop', id: item.id })
  }

  /** Applies an operation that is made already. */
  apply(operation: StateOperation): void {
    if (operation.op === 'add') this.#taken.add(operation.item.id)
    this.#apply(operation)
  }

  #apply(operation: StateOperation): void {
    this.#operations.push(operation)
    this.#state = applyOperations(this.#state, [operation])
  }
}
