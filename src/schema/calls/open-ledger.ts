/** How to open a ledger. */
import { isRegisteredEstimator, registeredEstimators } from '../../application/recording/estimators.js'
import type { SummarizeMessages } from '../../application/summarizers/from-function.js'
import type { SummarizerConfig } from '../../application/summarizers/index.js'
import type { Clock } from '../../ports/clock.js'
import type { KeyVault } from '../../ports/key-vault.js'
import type { Summarizer } from '../../ports/summarizer.js'
import { call, option, required } from '../call.js'
import {
  backgroundListener,
  checkedBy,
  flag,
  group,
  oneOf,
  policySettings,
  priceTable,
  recordedName,
  text,
  unchecked,
  wholeNumber,
} from '../option-values.js'

/** A timer counts in 32 bits; a longer one fires at once. */
const timerMilliseconds = () =>
  checkedBy<number>((given) =>
    typeof given === 'number' && Number.isSafeInteger(given) && given >= 1 && given < 2 ** 31
      ? undefined
      : 'must be a whole number of milliseconds, from 1 to 2147483647',
  )

/** A model of an OpenAI-compatible embeddings API. */
export const embeddingModel = () => ({
  model: required('The model’s name', recordedName()),
  baseUrl: option('Address of an OpenAI-compatible API. Default: OpenAI’s own', text()),
  apiKey: option('Its key; a server of your own may need none', text()),
  timeoutMs: option('Milliseconds that one request may take. Default: two minutes', wholeNumber(1)),
})

/** A request to a model that is being sent. */
export interface SummaryRequest {
  /** A chunk of messages, or batches that become one. */
  readonly kind: 'chunk' | 'resummarize'
  /** SHA-256 (hex) of the request. A repeated request has the same. */
  readonly requestHash: string
  /** The model's name. */
  readonly model: string
  /** Tokens of the request, estimated. */
  readonly promptTokens: number
  /** Resolves when the request is answered or has failed; never rejects. */
  readonly answered: Promise<void>
}

/** Opens a ledger. */
export const openLedger = call('openLedger', {
  options: () => ({
    store: required(
      'Location of the log: a folder (embedded Postgres; one process writes, others read with `readOnly`), `memory`, `postgres://…`, or a KurrentDB at `esdb://…` or `kurrentdb://…`',
      text(),
    ),
    database: option(
      'Location of the read models, large bodies and claims of a log in KurrentDB: `postgres://…` or a folder. A Postgres log keeps them in the same database',
      text(),
    ),
    readOnly: option(
      'If true, functions that record (`append`, `compact`, `editions.adopt`, …) throw `LedgerReadOnly`. A folder that another process of the same machine and user has open is read through that process, between its transactions: reads include everything appended so far, `behind` reports what lists and searches do not show yet, and `verify` throws `LedgerBeingWritten`. A folder that no process has open is opened normally, and this process owns it until `close`',
      flag(),
    ),
    erasable: option(
      'If true, a new ledger is created as an erasable one: every text is encrypted, and `admin.erasure` can erase it. An existing ledger keeps what it is; if it has events and is not erasable, this throws `NotErasable`',
      flag(),
    ),
    keys: option(
      'Where the keys of an erasable ledger are: a folder, the address of a key vault, or a key vault. Default: `CONTEXT_LEDGER_KEYS`, or a folder of this user outside the ledger. Keep a copy of the keys in another place than copies of the ledger',
      unchecked<string | KeyVault>(),
    ),
    summarizer: option(
      'The summarizer: `extractive` (no model, no key), `openai` (model, address and key of the environment: `OPENAI_MODEL`, `OPENAI_BASE_URL`, `OPENAI_API_KEY`, or `CONTEXT_LEDGER_MODEL` and so on, which win), the configuration of a model, a function `async (messages) => text`, or an implementation of `Summarizer`',
      unchecked<'extractive' | 'openai' | SummarizerConfig | SummarizeMessages | Summarizer>(),
    ),
    policy: option(
      'Policy of appends through this ledger; recorded. If absent, each conversation keeps its own',
      policySettings(),
    ),
    estimator: option(
      'Name of the token estimator for appends through this ledger; recorded. Register it with `registerEstimator` first. If absent, a conversation keeps its own, and a new conversation uses the default',
      checkedBy<string>((given) =>
        typeof given !== 'string'
          ? 'must be a text'
          : isRegisteredEstimator(given)
            ? undefined
            : `"${given}" is not registered (${registeredEstimators().join(', ')}): registerEstimator comes first`,
      ),
    ),
    persona: option(
      'Text in the summarizer’s prompt that describes the reader of the summaries',
      checkedBy<string>((given) =>
        typeof given !== 'string' ? 'must be a text' : given.isWellFormed() ? undefined : 'has a lone surrogate',
      ),
    ),
    embedding: option(
      'Enables semantic search',
      group('setting of an embedding model', 'must be an object', embeddingModel()),
    ),
    workers: option(
      '`inside` (default): this process runs projections and compaction. `elsewhere`: separate processes do (`projections run`, `compaction run`)',
      oneOf(['inside', 'elsewhere'], 'must be inside or elsewhere'),
    ),
    prices: option(
      'Prices by model name, for `stats`. Other known models have the list price that this version contains',
      priceTable(),
    ),
    ahead: option(
      'Whether this process summarizes complete chunks before a limit requires them. Default true. Set it to false in a process that ends directly after its appends, which would otherwise wait for these summaries',
      flag(),
    ),
    actor: option('Actor that is recorded with every event. Default `library`', recordedName()),
    clock: option(
      'Source of times and ids. Default: the system clock and random ids',
      checkedBy<Clock>((given) => {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each part is checked
        const clock = given as Partial<Clock> | null
        return typeof clock?.now === 'function' && typeof clock.newId === 'function'
          ? undefined
          : 'must have the functions now and newId'
      }),
    ),
    summarizerTimeoutMs: option(
      'Milliseconds after which a summarizer without an answer counts as failed, even if it ignores its signal. Default: ten minutes',
      timerMilliseconds(),
    ),
    onProblem: option(
      'Called with background errors: a compaction that failed after an append, a projection that stopped. Errors that it throws are ignored. If absent, the first problem is emitted as a process warning (`CONTEXT_LEDGER_PROBLEM`)',
      backgroundListener<[problem: unknown]>(),
    ),
    onOpening: option(
      'Called with a sentence for people if opening takes time or changes the store: the ledger is created, the lock of another machine is checked, or tables of an earlier version are upgraded',
      backgroundListener<[sentence: string]>(),
    ),
    onRequest: option(
      'Called with each request for a summary that is sent to a model, including repeated ones. A strategy without a model sends none. Errors that it throws are reported to `onProblem`',
      backgroundListener<[request: SummaryRequest]>(),
    ),
  }),
})
