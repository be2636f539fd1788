/**
 * The settings that flags, the environment and the config file can set, as plain data, so that `--help` does not load a
 * parser or a database. `config/load-config.ts` validates the values.
 */
import { MODEL_VARIABLES } from '../../application/summarizers/environment.js'
import { DEFAULT_STRATEGY, STRATEGIES } from '../../application/summarizers/strategy-names.js'

/**
 * What a command does with a ledger: opens it, records events, summarizes, searches, or computes costs. A command
 * accepts the settings of its uses.
 */
export type Use = 'open' | 'record' | 'summarize' | 'search' | 'price' | 'recall'

export interface Setting {
  /** Name in the config file; the flag is the same name in kebab case. */
  readonly key: string
  readonly flag: string

  readonly env: string
  /** A variable shared with other programs, used if the flag, our variable and the config file are not set. */
  readonly fallbackEnv?: string
  readonly describe: string
  readonly group: 'Ledger:' | 'Summarizer:'
  /** A command accepts the flag if it has one of these uses. */
  readonly uses: readonly Use[]
  readonly choices?: readonly string[]
  /** The value is a secret, or an address that may contain a password. `@FILE` reads it from a file. */
  readonly secret?: 'value' | 'address'
}

export const settings: readonly Setting[] = [
  {
    key: 'store',
    flag: 'store',
    env: 'CONTEXT_LEDGER_STORE',
    group: 'Ledger:',
    uses: ['open'],
    secret: 'address',
    describe:
      'Ledger: a directory, postgres://…, esdb://…, or https://… of a service; @FILE reads the address [default: .context-ledger]',
  },
  {
    key: 'database',
    flag: 'database',
    env: 'CONTEXT_LEDGER_DATABASE',
    group: 'Ledger:',
    uses: ['open'],
    secret: 'address',
    describe: 'Read models of a log in KurrentDB: postgres://… or a directory; @FILE reads the address',
  },
  {
    key: 'keys',
    flag: 'keys',
    env: 'CONTEXT_LEDGER_KEYS',
    group: 'Ledger:',
    uses: ['open'],
    describe:
      'Keys of an erasable ledger: a directory, vault+https://…, aws-kms:…, gcp-kms:… or azure-kms:… [default: a directory of this user, outside the ledger]',
  },
  {
    key: 'erasable',
    flag: 'erasable',
    env: 'CONTEXT_LEDGER_ERASABLE',
    group: 'Ledger:',
    uses: ['record'],
    choices: ['on', 'off'],
    describe: 'on: a new ledger encrypts every text, so that `erase` can erase it [default: off]',
  },
  {
    key: 'serviceKey',
    flag: 'service-key',
    env: 'CONTEXT_LEDGER_SERVICE_KEY',
    group: 'Ledger:',
    uses: ['open'],
    secret: 'value',
    describe: 'Key of the service in --store; use @FILE or the environment, because flags are visible to other users',
  },
  {
    key: 'workers',
    flag: 'workers',
    env: 'CONTEXT_LEDGER_WORKERS',
    group: 'Ledger:',
    uses: ['open'],
    choices: ['inside', 'elsewhere'],
    describe:
      'inside: this process updates read models and compacts; elsewhere: `projections run` and `compaction run` do [default: inside]',
  },
  {
    key: 'resident',
    flag: 'resident',
    env: 'CONTEXT_LEDGER_RESIDENT',
    group: 'Ledger:',
    uses: ['open'],
    choices: ['on', 'off'],
    describe:
      'on: after a command that reads a directory, a process keeps it open for 5 minutes, so that the next ones are fast; never in CI or without a terminal [default: on]',
  },
  {
    key: 'actor',
    flag: 'actor',
    env: 'CONTEXT_LEDGER_ACTOR',
    group: 'Ledger:',
    uses: ['record'],
    describe: 'Name recorded with every written event [default: USER@HOST]',
  },
  {
    key: 'summarizer',
    flag: 'summarizer',
    env: 'CONTEXT_LEDGER_SUMMARIZER',
    group: 'Summarizer:',
    uses: ['summarize'],
    choices: ['extractive', 'openai'],
    describe: 'Summarizer: extractive works without a model [default: extractive]',
  },
  {
    key: 'strategy',
    flag: 'strategy',
    env: 'CONTEXT_LEDGER_STRATEGY',
    group: 'Summarizer:',
    uses: ['summarize'],
    choices: STRATEGIES,
    describe: `Prompting strategy [default: ${DEFAULT_STRATEGY}]`,
  },
  {
    key: 'model',
    flag: 'model',
    env: MODEL_VARIABLES.model[0],
    fallbackEnv: MODEL_VARIABLES.model[1],
    group: 'Summarizer:',
    uses: ['summarize'],
    describe: 'Model of the summarizer',
  },
  {
    key: 'baseUrl',
    flag: 'base-url',
    env: MODEL_VARIABLES.baseUrl[0],
    fallbackEnv: MODEL_VARIABLES.baseUrl[1],
    group: 'Summarizer:',
    uses: ['summarize', 'search'],
    describe: 'Base URL of an OpenAI-compatible API',
  },
  {
    key: 'apiKey',
    flag: 'api-key',
    env: MODEL_VARIABLES.apiKey[0],
    fallbackEnv: MODEL_VARIABLES.apiKey[1],
    group: 'Summarizer:',
    uses: ['summarize', 'search'],
    secret: 'value',
    describe: 'Key of that API; use @FILE or the environment, because flags are visible to other users',
  },
  {
    key: 'windowTokens',
    flag: 'window-tokens',
    env: 'CONTEXT_LEDGER_WINDOW_TOKENS',
    group: 'Summarizer:',
    uses: ['summarize'],
    describe: 'Context window of the summarizer’s model, in tokens',
  },
  {
    key: 'timeout',
    flag: 'timeout',
    env: 'CONTEXT_LEDGER_TIMEOUT',
    group: 'Summarizer:',
    uses: ['summarize', 'search'],
    describe: 'Timeout of one request, in seconds [default: 120]',
  },
  {
    key: 'prompt',
    flag: 'prompt',
    env: 'CONTEXT_LEDGER_PROMPT',
    group: 'Summarizer:',
    uses: ['summarize'],
    describe: 'Prompt template: a file, or a recorded prompt as NAME, NAME@VERSION or hash',
  },
  {
    key: 'persona',
    flag: 'persona',
    env: 'CONTEXT_LEDGER_PERSONA',
    group: 'Summarizer:',
    uses: ['summarize'],
    describe: 'Description of the agent that reads the summaries: a text, or @FILE',
  },
  {
    key: 'embeddingModel',
    flag: 'embedding-model',
    env: 'CONTEXT_LEDGER_EMBEDDING_MODEL',
    group: 'Ledger:',
    uses: ['search'],
    describe: 'Embedding model for search by meaning, at the same API',
  },
  {
    key: 'prices',
    flag: 'prices',
    env: 'CONTEXT_LEDGER_PRICES',
    group: 'Ledger:',
    uses: ['price'],
    describe:
      'JSON file with prices by model, instead of the list prices of known models, for `stats`, `replay` and --max-cost',
  },
  {
    key: 'rules',
    flag: 'rules',
    env: 'CONTEXT_LEDGER_RULES',
    group: 'Ledger:',
    uses: ['recall'],
    describe: 'Text file of rules with which every recall note begins, one on each line',
  },
]

export const settingsFor = (uses: readonly Use[]): readonly Setting[] =>
  settings.filter((setting) => setting.uses.some((use) => uses.includes(use)))

export const CONFIG_FILE = 'context-ledger.config.json'
export const DEFAULT_STORE = '.context-ledger'

/** The command line as parsed by yargs: values by flag name. */
export type Flags = Readonly<Record<string, unknown>>

/** `keepRecent` → `keep-recent`. */
export const kebab = (name: string): string => name.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)
