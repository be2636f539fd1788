/** One flag for each setting of the policy, read off its schema, so that a new setting has its flag by itself. Loaded by the commands that write. */
import { policySettingsSchema, type PolicySettings } from '../../domain/policy.js'
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
  modelMaxTokens: 'Tokens that the agent’s model takes [default: by --agent-model, else 128000]',
  contextBudget: 'Share of the window that starts a cycle [default: 0.8]',
  systemReserve: 'Tokens kept free for what the host adds [default: 0]',
  outputReserve: 'Tokens kept free for the answer [default: 0]',
  safetyBuffer: 'Tokens kept free for the estimate’s error [default: 0]',
  chunkSize: 'Messages a chunk has at least [default: 20]',
  chunkMinTokens: 'Tokens a chunk has at least; 0 for chunks by count alone [default: 4 summaries’ worth]',
  chunkMaxTokens: 'Tokens a chunk has at most [default: by the summarizer’s window]',
  keepRecent: 'Messages at the end that stay as they are [default: 5]',
  clipFirst: 'Earliest batches shown [default: 2]',
  clipMiddle: 'Deepest batches in between shown [default: 1]',
  clipLast: 'Latest batches shown [default: 2]',
  buffer: 'Batches beyond those shown before the oldest become one [default: 6]',
  maxSummaryTokens: 'Tokens a summary has at most [default: 1024, at most a sixteenth of the soft limit]',
  temperature: 'Temperature of the summarizer [default: 0]',
  view: 'How the compacted part is shown [default: clip-archive]',
  standIn: 'Who summarizes at the hard limit when the summarizer fails [default: extractive]',
}

/** Every setting's flag, in the order of the schema. */
export function policyFlags(): readonly PolicyFlag[] {
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
      describe: described[name] ?? `The policy’s setting ${name}`,
    }
  })
}
