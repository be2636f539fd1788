/**
 * One flag for each policy setting, derived from the policy schema. Only commands that write load this file, because it
 * loads the schema.
 */
import { either as E } from 'fp-ts'
import { policySettingsSchema, resolvePolicy, type Policy, type PolicySettings } from '../../domain/values/policy.js'
import { kebab } from './flags.js'

export interface PolicyFlag {
  readonly key: keyof PolicySettings
  readonly flag: string
  readonly kind: 'number' | 'text'
  readonly choices?: readonly string[]
  readonly describe: string
}

// `--model` is the model of the summarizer; the policy setting `model` is the model of the agent.
const renamed: Partial<Record<string, string>> = { model: 'agent-model' }

const described: Partial<Record<string, string>> = {
  model: 'Model of the agent; sets the window if --model-max-tokens is not given',
  modelMaxTokens: 'Context window of the agent’s model, in tokens [default: from --agent-model]',
  contextBudget: 'Share of the window at which a cycle starts',
  systemReserve: 'Tokens reserved for additions of the host',
  outputReserve: 'Tokens reserved for the answer',
  safetyBuffer: 'Tokens reserved for estimation errors',
  chunkSize: 'Minimum messages of a chunk',
  chunkMinTokens: 'Minimum tokens of a chunk; 0 uses only the message count',
  chunkMaxTokens: 'Maximum tokens of a chunk [default: from the summarizer’s window]',
  keepRecent: 'Most recent messages that are not compacted',
  clipFirst: 'Earliest batches in the view',
  clipMiddle: 'Deepest batches between them in the view',
  clipLast: 'Latest batches in the view',
  buffer: 'Batches outside the view before the oldest are merged',
  maxSummaryTokens: 'Maximum tokens of a summary [default: a share of the soft limit]',
  temperature: 'Temperature of the summarizer',
  view: 'Format of the compacted part',
  shape: 'API whose message rules the context follows; strict: all APIs',
  fallback: 'Fallback at the hard limit if the summarizer fails',
  redaction: 'Whether secrets are replaced before anything is recorded [default: on]',
}

/** Settings whose default depends on other settings, so the help shows no default. */
const derived = new Set(['chunkMinTokens', 'chunkMaxTokens', 'maxSummaryTokens'])

/** The flags in the order of the schema. */
export function policyFlags(): readonly PolicyFlag[] {
  const resolved = resolvePolicy({})
  const defaults: Partial<Policy> = E.isRight(resolved) ? resolved.right : {}
  const suffix = (name: string): string => {
    const value = new Map(Object.entries(defaults)).get(name)
    return value === undefined || derived.has(name) ? '' : ` [default: ${String(value)}]`
  }
  return Object.entries(policySettingsSchema.shape).flatMap(([name, schema]) => {
    // The keys of the schema are the names of the settings.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const key = name as keyof PolicySettings
    const inner = schema.unwrap()
    // Lists of patterns are set in a policy file.
    if (inner.def.type !== 'number' && inner.def.type !== 'string' && inner.def.type !== 'enum') return []
    return {
      key,
      flag: renamed[name] ?? kebab(name),
      kind: inner.def.type === 'number' ? 'number' : 'text',
      ...('options' in inner ? { choices: inner.options } : {}),
      describe: `${described[name] ?? `The policy’s setting ${name}`}${suffix(name)}`,
    }
  })
}
