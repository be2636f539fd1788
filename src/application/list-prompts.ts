/** The registry of prompts: every template and persona that was used, by name, version and hash. */
import { PROMPT_PREFIX } from '../domain/ids.js'
import { decodeFact, isOfType } from './facts.js'
import type { Log } from './load-conversation.js'

/** A template or persona that was used. */
export interface RegisteredPrompt {
  /** The name that it was used by. */
  readonly name: string
  /** A template of the prompt, or a persona. */
  readonly kind: 'template' | 'persona'
  /** The how-manyeth text that was registered under this name. */
  readonly version: number
  /** SHA-256 (hex) of its text. */
  readonly sha256: string
  /** The text, whole. */
  readonly text: string
  /** When it was first used. */
  readonly firstUsedAt: string
  /** Who asked for the first summary with it. */
  readonly actor: string
}

/** Every prompt, in the order in which they were registered. */
export async function listPrompts(log: Log): Promise<readonly RegisteredPrompt[]> {
  const found: RegisteredPrompt[] = []
  const versions = new Map<string, number>()
  for await (const stored of log.store.readAll({ prefix: PROMPT_PREFIX })) {
    if (stored.type !== 'PromptRegistered') continue
    const fact = await decodeFact(stored, log.bodies)
    if (!isOfType(fact, 'PromptRegistered')) continue
    const { name, kind, sha256, text } = fact.data
    const key = `${kind} ${name}`
    const version = (versions.get(key) ?? 0) + 1
    versions.set(key, version)
    found.push({ name, kind, version, sha256, text, firstUsedAt: fact.metadata.recordedAt, actor: fact.metadata.actor })
  }
  return found
}

const HASH = /^[0-9a-f]{6,64}$/u

/** The prompts whose hash begins so, where it can be the beginning of one. */
export const promptsBegunWith = (prompts: readonly RegisteredPrompt[], meant: string): readonly RegisteredPrompt[] => (HASH.test(meant) ? prompts.filter(({ sha256 }) => sha256.startsWith(meant)) : [])

/** The prompt that `NAME`, `NAME@VERSION` or the beginning of a hash means: of a name without a version the newest. */
export function promptMeant(prompts: readonly RegisteredPrompt[], meant: string): RegisteredPrompt | undefined {
  const at = /^(.+)@(\d+)$/su.exec(meant)
  const named = prompts.findLast(({ name }) => name === meant) ?? (at === null ? undefined : prompts.findLast(({ name, version }) => name === at[1] && version === Number(at[2])))
  if (named !== undefined) return named
  const hashed = promptsBegunWith(prompts, meant)
  return hashed.length === 1 ? hashed[0] : undefined
}

/** The same among the templates: a persona is no prompt that a model could be asked by. */
export const templateMeant = (prompts: readonly RegisteredPrompt[], meant: string): RegisteredPrompt | undefined => promptMeant(prompts.filter(({ kind }) => kind === 'template'), meant)
