/**
 * Keeps a ledger's directory open in this process between commands that only read it, as a resident reader does: the
 * engine, which takes a second or two to start, then starts once instead of once for each command.
 */
import { existsSync } from 'node:fs'
import { parsed } from '../../src/interfaces/cli/parser.js'
import { runResident, stopResident } from '../../src/library/resident.js'
import { runCli, type CliOptions, type CliResult } from './cli.js'

const onlyReads = async (words: readonly string[]): Promise<boolean> =>
  !words.includes('--help') &&
  (await parsed(words).then(
    (found) => found?.command.reads === true,
    () => false,
  ))

export class OpenDirectory {
  readonly #store: string
  #ended: Promise<void> | undefined

  constructor(store: string) {
    this.#store = store
  }

  /** Like `runCli`, for commands on this directory. A command that writes has the directory for itself. */
  async run(words: readonly string[], options: Omit<CliOptions, 'output'>): Promise<CliResult> {
    const isShared = !words.includes('--store') && existsSync(this.#store)
    if (isShared && (await onlyReads(words))) await this.#open()
    else await this.close()
    return await runCli(words, options)
  }

  /** Closes the directory, so that the test or another process can have it. */
  async close(): Promise<void> {
    if (this.#ended === undefined) return
    await stopResident(this.#store)
    await this.#ended
    this.#ended = undefined
  }

  async #open(): Promise<void> {
    if (this.#ended !== undefined) return
    await new Promise<void>((ready, failed) => {
      const onReady = (): Promise<void> => {
        ready()
        return Promise.resolve()
      }
      this.#ended = runResident(this.#store, { run: () => Promise.resolve(undefined), onReady })
      this.#ended.then(ready, failed)
    })
  }
}
