/** The registry of what summaries were made with. */
import { nearest } from '../domain/text/edit-distance.js'
import { listPrompts, promptMeant, promptsBegunWith } from '../application/recording/list-prompts.js'
import type { Gate } from './gate.js'
import type { PromptRegistry, Prompts, RegisteredPrompt } from './ledger-editions.js'
import { bad, nameGiven } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem } from './problem.js'

/** So much of a hash names a prompt that cannot be read. */
const SHORTEST_HASH = 6

/** The prompt of this name. The error for an unknown one suggests the nearest name. */
function promptNamed({ prompts, unreadable }: PromptRegistry, which: string): RegisteredPrompt {
  const found = promptMeant(prompts, which)
  if (found !== undefined) return found
  const matches = promptsBegunWith(prompts, which)
  if (matches.length > 1)
    throw bad(
      'which',
      `"${which}" is the beginning of several hashes: ${matches.map(({ name, version, sha256 }) => `${sha256.slice(0, which.length + 4)} (${name}@${String(version)})`).join(', ')}`,
    )
  const lost = which.length >= SHORTEST_HASH ? unreadable.find(({ sha256 }) => sha256.startsWith(which)) : undefined
  if (lost !== undefined) throw problem({ kind: 'UnreadableLog', detail: lost.reason })
  const near = nearest(which, [
    ...new Set(prompts.map(({ name }) => name)),
    ...prompts.map(({ name, version }) => `${name}@${String(version)}`),
  ])
  throw problem({ kind: 'NoSuchPrompt', which, ...(near === undefined ? {} : { nearest: near }) })
}

export function createPrompts({ log, gate }: Pick<LedgerParts, 'log'> & { readonly gate: Gate }): Prompts {
  return {
    async list() {
      gate.open()
      return await listPrompts(log)
    },
    async show(given) {
      gate.open()
      const which = nameGiven('which', given)
      return promptNamed(await listPrompts(log), which)
    },
  }
}
