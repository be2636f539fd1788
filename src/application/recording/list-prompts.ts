/** The registry of prompts: every template and persona that was used, by name, version and hash. */
import type { RecordedEvent } from '../../domain/events/index.js'
import { PROMPT_PREFIX } from '../../domain/values/ids.js'
import { decodeEvent, isOfType, isUnreadableEvent } from './read-event.js'
import type { Log } from './load-conversation.js'

/** A template or persona that was used. */
export interface RegisteredPrompt {
  /** Its name. */
  readonly name: string
  /** A template of the prompt, or a persona. */
  readonly kind: 'template' | 'persona'
  /** The number of the text among those with the same name, from 1. */
  readonly version: number
  /** SHA-256 (hex) of its text. */
  readonly sha256: string
  /** The full text. */
  readonly text: string
  /** The time of the first use. */
  readonly firstUsedAt: string
  /** The actor of the first request that used it. */
  readonly actor: string
}

/** The registered prompts, and those that cannot be read. */
export interface PromptRegistry {
  /** In the order of registration. */
  readonly prompts: readonly RegisteredPrompt[]
  /**
   * Prompts whose event cannot be read, by the hash in the name of their stream. Later versions of the same name are
   * numbered one lower.
   */
  readonly unreadable: readonly { readonly sha256: string; readonly reason: string }[]
}

/** Lists every prompt. An unreadable one is named and does not stop the others. */
export async function listPrompts(log: Log): Promise<PromptRegistry> {
  const prompts: RegisteredPrompt[] = []
  const unreadable: { sha256: string; reason: string }[] = []
  const versions = new Map<string, number>()
  for await (const stored of log.store.readAll({ prefix: PROMPT_PREFIX })) {
    if (stored.type !== 'PromptRegistered') continue
    let event: RecordedEvent
    try {
      event = await decodeEvent(stored, log)
    } catch (error) {
      if (!isUnreadableEvent(error)) throw error
      unreadable.push({ sha256: stored.stream.slice(PROMPT_PREFIX.length), reason: error.message })
      continue
    }
    if (!isOfType(event, 'PromptRegistered')) continue
    const { name, kind, sha256, text } = event.data
    const key = `${kind} ${name}`
    const version = (versions.get(key) ?? 0) + 1
    versions.set(key, version)
    prompts.push({
      name,
      kind,
      version,
      sha256,
      text,
      firstUsedAt: event.metadata.recordedAt,
      actor: event.metadata.actor,
    })
  }
  return { prompts, unreadable }
}

const HASH = /^[0-9a-f]{6,64}$/u

/** The prompts whose hash begins with the input. */
export const promptsBegunWith = (prompts: readonly RegisteredPrompt[], meant: string): readonly RegisteredPrompt[] =>
  HASH.test(meant) ? prompts.filter(({ sha256 }) => sha256.startsWith(meant)) : []

/** The prompt for `NAME` (the newest version), `NAME@VERSION` or the beginning of a hash. */
export function promptMeant(prompts: readonly RegisteredPrompt[], meant: string): RegisteredPrompt | undefined {
  const at = /^(.+)@(\d+)$/su.exec(meant)
  const named =
    prompts.findLast(({ name }) => name === meant) ??
    (at === null ? undefined : prompts.findLast(({ name, version }) => name === at[1] && version === Number(at[2])))
  if (named !== undefined) return named
  const hashed = promptsBegunWith(prompts, meant)
  return hashed.length === 1 ? hashed[0] : undefined
}

/** The same among templates only: a persona cannot be used as a prompt. */
export const templateMeant = (prompts: readonly RegisteredPrompt[], meant: string): RegisteredPrompt | undefined =>
  promptMeant(
    prompts.filter(({ kind }) => kind === 'template'),
    meant,
  )
