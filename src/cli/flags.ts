/**
 * The settings that a flag, the environment or the config file gives, as plain data, so that `--help` can show them
 * without loading a parser or a database. Which values they take is said once, in `config/load-config.ts`.
 */
import { DEFAULT_STRATEGY, STRATEGIES } from '../summarizers/strategy-names.js'

export interface Setting {
  /** Its name in the config file; the flag is the same in kebab case. */
  readonly key: string
  readonly flag: string
  /** The environment variable of our own. */
  readonly env: string
  /** Everybody's variable for the same thing, used where nothing of ours is set. */
  readonly fallbackEnv?: string
  readonly describe: string
  readonly group: 'Ledger:' | 'Summarizer:'
  readonly choices?: readonly string[]
}

export const settings: readonly Setting[] = [
  {
    key: 'store',
    flag: 'store',
    env: 'CONTEXT_LEDGER_STORE',
    group: 'Ledger:',
    describe: 'Folder of the ledger, postgres://…, esdb://…, or https://… of a service [default: .context-ledger]',
  },
  {
    key: 'database',
    flag: 'database',
    env: 'CONTEXT_LEDGER_DATABASE',
    group: 'Ledger:',
    describe: 'Where the read models are, for a log in KurrentDB: postgres://…, or a folder',
  },
  {
    key: 'serviceKey',
    flag: 'service-key',
    env: 'CONTEXT_LEDGER_SERVICE_KEY',
    group: 'Ledger:',
    describe: 'Key of the service that --store names (better in the environment)',
  },
  {
    key: 'workers',
    flag: 'workers',
    env: 'CONTEXT_LEDGER_WORKERS',
    group: 'Ledger:',
    choices: ['inside', 'elsewhere'],
    describe:
      'Who keeps the read models and compacts: this process, or `projections run` and `compaction run` [default: inside]',
  },
  {
    key: 'actor',
    flag: 'actor',
    env: 'CONTEXT_LEDGER_ACTOR',
    group: 'Ledger:',
    describe: 'Who asks, recorded with all that is written [default: USER@HOST]',
  },
  {
    key: 'summarizer',
    flag: 'summarizer',
    env: 'CONTEXT_LEDGER_SUMMARIZER',
    group: 'Summarizer:',
    choices: ['extractive', 'openai'],
    describe: 'Who summarizes [default: extractive]',
  },
  {
    key: 'strategy',
    flag: 'strategy',
    env: 'CONTEXT_LEDGER_STRATEGY',
    group: 'Summarizer:',
    choices: STRATEGIES,
    describe: `How the model is asked [default: ${DEFAULT_STRATEGY}]`,
  },
  {
    key: 'model',
    flag: 'model',
    env: 'CONTEXT_LEDGER_MODEL',
    fallbackEnv: 'OPENAI_MODEL',
    group: 'Summarizer:',
    describe: 'Model that summarizes',
  },
  {
    key: 'baseUrl',
    flag: 'base-url',
    env: 'CONTEXT_LEDGER_BASE_URL',
    fallbackEnv: 'OPENAI_BASE_URL',
    group: 'Summarizer:',
    describe: 'Address of an API that speaks OpenAI’s',
  },
  {
    key: 'apiKey',
    flag: 'api-key',
    env: 'CONTEXT_LEDGER_API_KEY',
    fallbackEnv: 'OPENAI_API_KEY',
    group: 'Summarizer:',
    describe: 'Its key (better in the environment)',
  },
  {
    key: 'windowTokens',
    flag: 'window-tokens',
    env: 'CONTEXT_LEDGER_WINDOW_TOKENS',
    group: 'Summarizer:',
    describe: 'What that model’s window takes',
  },
  {
    key: 'timeout',
    flag: 'timeout',
    env: 'CONTEXT_LEDGER_TIMEOUT',
    group: 'Summarizer:',
    describe: 'Seconds that one request may take [default: 120]',
  },
  {
    key: 'prompt',
    flag: 'prompt',
    env: 'CONTEXT_LEDGER_PROMPT',
    group: 'Summarizer:',
    describe: 'File with a prompt template of your own, or one that was used before: NAME, NAME@VERSION or its hash',
  },
  {
    key: 'persona',
    flag: 'persona',
    env: 'CONTEXT_LEDGER_PERSONA',
    group: 'Summarizer:',
    describe: 'Whom the summaries are for: a text, or @FILE',
  },
  {
    key: 'embeddingModel',
    flag: 'embedding-model',
    env: 'CONTEXT_LEDGER_EMBEDDING_MODEL',
    group: 'Ledger:',
    describe: 'Model for search by meaning, at the same API',
  },
  {
    key: 'prices',
    flag: 'prices',
    env: 'CONTEXT_LEDGER_PRICES',
    group: 'Ledger:',
    describe:
      'JSON file of prices by model, for the cost in `stats` and in the estimate of `replay`, and for --max-cost',
  },
]

export const CONFIG_FILE = 'context-ledger.config.json'
export const DEFAULT_STORE = '.context-ledger'

/** What yargs makes of the command line: a flag's value by its name as it was typed. */
export type Flags = Readonly<Record<string, unknown>>

/** `keepRecent` → `keep-recent`. */
export const kebab = (name: string): string => name.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)
