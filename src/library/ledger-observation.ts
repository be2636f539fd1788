/** The public types of observations of another program. `observing.ts` implements them. */
import type { MessageInput } from '../domain/values/message.js'

/** A compaction that a program was seen to make. */
export interface SeenCompaction {
  /** Distinguishes it from the program's other compactions of this conversation. */
  readonly sourceId: string
  /** What started it, if known. */
  readonly trigger: 'auto' | 'manual' | 'overflow' | 'unknown'
  /** The summary that replaced the removed messages. */
  readonly summary:
    | { readonly kind: 'text'; readonly text: string }
    | { readonly kind: 'opaque' }
    | { readonly kind: 'none' }
  /** The context directly after it: ids of the messages that stayed, and what the program added. */
  readonly context: readonly (
    | { readonly messageId: string }
    | { readonly inserted: MessageInput; readonly isSummary?: true }
  )[]
}

/** What a program was seen to do, in this order: taken back, given otherwise, compacted, said. All of it or nothing. */
export interface Observation {
  /** The program that makes the context, by its name. */
  readonly program: string
  /** Its version. */
  readonly programVersion?: string
  /** The program's own id of the conversation. Default: the conversation's id. */
  readonly sourceId?: string
  /** Where it was seen. Default: `proxy`. */
  readonly where?: string
  /** Ids of live messages that are said no more. */
  readonly withdrawn?: readonly string[]
  /** Live messages for which the model receives other content from now on. */
  readonly edited?: readonly {
    readonly messageId: string
    readonly content: MessageInput['content']
    readonly why: 'pruned' | 'masked' | 'shortened' | 'replaced'
  }[]
  /** The program compacted: its model is given this context from now on. */
  readonly compaction?: SeenCompaction
  /** What was said, in its order. */
  readonly messages?: readonly MessageInput[]
}
