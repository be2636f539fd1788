/** Copies the keys of an erasable log, which its copy needs in addition to the events. No erasure may be pending. */
import { LedgerError } from '../../../lib/ledger-error.js'
import type { PendingErasures } from '../../../ports/pending-erasures.js'
import { copyKeys, sharesKeys } from '../../../application/sealing/copy-keys.js'
import type { TextKeys } from '../../../application/sealing/text-keys.js'
import { many } from '../output.js'

/** An erasable log that was opened for a copy. */
export interface ErasableLog {
  readonly keys: TextKeys
  readonly pendingErasures: PendingErasures
}

type NamedLog = ErasableLog & { readonly name: string }

/** Keys that were copied, for the report. */
export interface CopiedKeys {
  readonly conversations: number
  /** The vaults of the source and of the target. */
  readonly vaults: readonly [string, string]
  readonly areShared: boolean
}

/** Copies the keys of an erasable log to a copy of it. */
export class KeyCopy {
  private constructor(
    private readonly from: NamedLog,
    private readonly to: NamedLog,
  ) {}

  /** Throws if the target belongs to another ledger, or has an erasure that is not completed. */
  static async checked(from: NamedLog, to: NamedLog): Promise<KeyCopy> {
    if (!to.keys.isCopyOf(from.keys))
      throw new LedgerError(
        'TargetDiffers',
        `${to.name} is another erasable ledger, with keys of its own: use an empty store, or an earlier copy of this log`,
      )
    await rejectPending(to)
    return new KeyCopy(from, to)
  }

  /** Copies the keys as they are now. */
  async copy(): Promise<CopiedKeys> {
    const { from, to } = this
    const conversations = await copyKeys(from.keys, to.keys)
    return {
      conversations,
      vaults: [from.keys.vault.name, to.keys.vault.name],
      areShared: sharesKeys(from.keys, to.keys),
    }
  }

  /** Copies the keys after the events: an erasure may have changed them meanwhile. Throws if one is not completed. */
  async copyAgain(): Promise<CopiedKeys> {
    const copied = await this.copy()
    await rejectPending(this.from)
    return copied
  }
}

/** Throws if an erasure is not completed: then keys of erased texts may still exist. */
export async function rejectPending({ name, pendingErasures }: NamedLog): Promise<void> {
  const [first, ...others] = await pendingErasures.list()
  if (first === undefined) return
  throw new LedgerError(
    'ErasurePending',
    `an erasure in ${name} is not completed (conversation "${first.conversationId}"${others.length === 0 ? '' : ` and ${String(others.length)} more`}): run \`context-ledger erase --resume\` on it, then copy again`,
    { details: { conversationId: first.conversationId } },
  )
}

/** The sentence about the keys, for people. */
export function keysSentence({ conversations, vaults: [, to], areShared }: CopiedKeys): string {
  const copied = `keys of ${many(conversations, 'conversation')}`
  return areShared
    ? `${copied} are in the ${to}, which both logs use; delete the source when you use the target: an erasure destroys keys of both, and cleans the read models of one`
    : `${copied} are wrapped again by the ${to}; delete the source and its keys when you use the target: an erasure in the target does not reach them`
}
