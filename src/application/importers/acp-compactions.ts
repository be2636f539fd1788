/**
 * Recognizes the compactions of an agent: some say them with their summary, some have a command for them, and of others
 * only the size of the context shows it.
 */
import { textIn } from '../../lib/text-in.js'
import { addBlock, textOfBlocks, type AcpMoment } from './acp-content.js'
import { inside, listIn, type Fields } from './bodies.js'
import type { CompactionItem } from './transcript.js'

/** Commands by which a user lets an agent compact. */
const COMPACT = /^\/(?<command>compact|compress|summarize)\b/u
/** A context that shrinks below this part of its size was compacted. Smaller ones vary by themselves. */
const SHRUNK = 0.5
const LEAST_TOKENS = 2_000

/** Why a compaction happened in a turn. */
export const triggerIn = (prompt: string | undefined): CompactionItem['trigger'] =>
  COMPACT.test(prompt ?? '') ? 'manual' : 'auto'

/** A summary, as far as it has come. */
interface OpenSummary {
  readonly blocks: unknown[]
  readonly moment: AcpMoment
  isEnded: boolean
}

export class AcpCompactions {
  private readonly summaries = new Map<string, OpenSummary>()
  /** Commands that the agent offers. */
  private readonly commands = new Set<string>()
  private contextTokens: number | undefined

  offer(commands: readonly unknown[]): void {
    for (const command of commands) this.commands.add(textIn(inside(command, 'name')) ?? '')
  }

  /** Whether a prompt is a command of this agent that compacts. */
  isCommand(prompt: string): boolean {
    const command = COMPACT.exec(prompt)?.groups?.['command']
    return command !== undefined && this.commands.has(command)
  }

  /** Notes the size of the context. Returns the size before if it was compacted since. */
  measure(tokens: number): number | undefined {
    const before = this.contextTokens
    this.contextTokens = tokens
    return before === undefined || before < LEAST_TOKENS || tokens >= before * SHRUNK ? undefined : before
  }

  /** After a compaction, the size before it says nothing. */
  forgetSize(): void {
    this.contextTokens = undefined
  }

  /** The first notice of a compaction fixes its place. False for a further one. */
  notice(id: string, moment: AcpMoment): boolean {
    if (this.summaries.has(id)) return false
    this.summaries.set(id, { blocks: [], moment, isEnded: false })
    return true
  }

  /** Adds a streamed block to a summary. */
  addBlock(id: string, block: unknown): void {
    addBlock(this.summaries.get(id)?.blocks ?? [], block)
  }

  /** Takes the state of a compaction. Returns its summary, and when it began, once it is completed. */
  update(id: string, { summary, status }: Fields): { readonly text: string; readonly moment: AcpMoment } | undefined {
    const known = this.summaries.get(id)
    if (known === undefined || known.isEnded) return undefined
    if (summary !== undefined) known.blocks.splice(0, known.blocks.length, ...listIn(summary))
    known.isEnded = status !== 'in_progress'
    return status === 'completed' ? { text: textOfBlocks(known.blocks), moment: known.moment } : undefined
  }
}
