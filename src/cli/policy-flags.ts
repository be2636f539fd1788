/**
 * One flag for each setting of the policy. They are read from the policy's schema, so a new setting has its flag by
 * itself. Only commands that write load this file, because it loads the schema.
 */
import { either as E } from 'fp-ts'
import { policySettingsSchema, resolvePolicy, type Policy, type PolicySettings } from '../domain/values/policy.js'
import { kebab } from './flags.js'

export interface PolicyFlag {
  readonly key: keyof PolicySettings
  readonly flag: string
  readonly kind: 'number' | 'text'
  readonly choices?: readonly string[]
  readonly describe: string
}

// `--model` names the summarizer's model; the policy's is the one that the agent talks to.
const renamed: Partial<Record<string, string>> = { model: 'agent-model' }

const described: Partial<Record<string, string>> = {
  model: 'Model of the agent, whose window counts where --model-max-tokens is not given',
  modelMaxTokens: 'Tokens that the agent’s model takes; by --agent-model where it is not given',
  contextBudget: 'Share of the window that starts a cycle',
  systemReserve: 'Tokens kept free for what the host adds',
  outputReserve: 'Tokens kept free for the answer',
  safetyBuffer: 'Tokens kept free for the estimate’s error',
  chunkSize: 'Messages a chunk has at least',
  chunkMinTokens: 'Tokens a chunk has at least; 0 for chunks by count alone',
  chunkMaxTokens: 'Tokens a chunk has at most; by the summarizer’s window where it is not given',
  keepRecent: 'Messages at the end that stay as they are',
  clipFirst: 'Earliest batches shown',
  clipMiddle: 'Deepest batches in between shown',
  clipLast: 'Latest batches shown',
  buffer: 'Batches beyond those shown before the oldest become one',
  maxSummaryTokens: 'Tokens a summary has at most; no more than a part of the soft limit where it is not given',
  temperature: 'Temperature of the summarizer',
  view: 'How the compacted part is shown',
  standIn: 'Who summarizes at the hard limit when the summarizer fails',
}

/** Settings whose default follows from others: one number would be a wrong answer. */
const derived = new Set(['chunkMinTokens', 'chunkMaxTokens', 'maxSummaryTokens'])

/** Every setting's flag, in the order of the schema. */
export function policyFlags(): readonly PolicyFlag[] {
  const resolved = resolvePolicy({})
  const defaults: Partial<Policy> = E.isRight(resolved) ? resolved.right : {}
  const suffix = (name: string): string => {
    const value = new Map(Object.entries(defaults)).get(name)
    return value === undefined || derived.has(name) ? '' : ` [default: ${String(value)}]`
  }
  return Object.entries(policySettingsSchema.shape).map(([name, schema]) => {
    // The schema's own keys are the settings' names.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const key = name as keyof PolicySettings
    const inner = schema.unwrap()
    return {
      key,
      flag: renamed[name] ?? kebab(name),
      kind: inner.def.type === 'number' ? 'number' : 'text',
      ...('options' in inner ? { choices: inner.options } : {}),
      describe: `${described[name] ?? `The policy’s setting ${name}`}${suffix(name)}`,
    }
  })
}
