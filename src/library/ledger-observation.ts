/** The public types of observations of another program. `observing.ts` implements them. */
import type { MessageInput } from '../domain/values/message.js'

/** An observed compaction of a program. */
export interface SeenCompaction {
  /** Distinguishes it from the program's other compactions of this conversation. */
  readonly sourceId: string
  /** The trigger; `unknown` if the program does not report it. */
  readonly trigger: 'auto' | 'manual' | 'overflow' | 'unknown'
  /** The summary that replaced the removed messages. */
  readonly summary:
    | { readonly kind: 'text'; readonly text: string }
    | { readonly kind: 'opaque' }
    | { readonly kind: 'none' }
  /** The context directly after it: ids of the remaining messages, and messages that the program added. */
  readonly context: readonly (
    | { readonly messageId: string }
    | { readonly inserted: MessageInput; readonly isSummary?: true }
  )[]
}

/** Observed actions of a program. They are recorded in this order, all or none: withdrawals, edits, the compaction, messages. */
export interface Observation {
  /** The program that makes the context, by its name. */
  readonly program: string
  /** Its version. */
  readonly programVersion?: string
  /** The program's own id of the conversation. Default: the conversation's id. */
  readonly sourceId?: string
  /** The source of the observation. Default: `proxy`. */
  readonly where?: string
  /** Ids of live messages that the program withdrew. */
  readonly withdrawn?: readonly string[]
  /** Live messages whose content the program replaced for its model. */
  readonly edited?: readonly {
    readonly messageId: string
    readonly content: MessageInput['content']
    readonly why: 'pruned' | 'masked' | 'shortened' | 'replaced'
  }[]
  /** A compaction. From now on the model receives its context. */
  readonly compaction?: SeenCompaction
  /** New messages, in order. */
  readonly messages?: readonly MessageInput[]
  /** An answer to the program that cannot be read. Alone, it may be observed in any conversation. */
  readonly unreadable?: {
    /** Why it cannot be read. */
    readonly detail: string
    /** Its position, for example the message that it follows. */
    readonly path?: string
  }
}
