/**
 * Keeps the engine of a directory that was closed, for the next opening of the directory. An engine takes half a second
 * of processor to start, and a test of the command line opens its directory for each command.
 *
 * An engine is used again if the directory's files are as it left them: if a test changed a file of it, the engine is
 * abandoned and a new one starts. Files that call `keepEngines` use this. It is not for tests in which another process
 * opens the directory, or of what a directory contains after it was closed.
 */
import { afterAll } from '@jest/globals'
import type { PGlite } from '@electric-sql/pglite'
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Directories whose engines are kept. Each engine takes 100 to 200 MB. */
const MOST_KEPT = 2

interface Kept {
  readonly engine: PGlite
  /** The files of the directory when its engine was last used. */
  readonly files: string
}

function filesOf(folder: string): string {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .toSorted()
      .map((name) => {
        const { ino, size, mtimeMs } = lstatSync(join(folder, name))
        return `${name} ${String(ino)} ${String(size)} ${String(mtimeMs)}`
      })
      .join('\n')
  } catch {
    return 'removed'
  }
}

export class KeptEngines {
  readonly #kept = new Map<string, Kept>()
  #isEnded = false

  /** The engine that was kept for the directory, or a new one. */
  open(folder: string, start: () => PGlite): PGlite {
    const found = this.#kept.get(folder)
    this.#kept.delete(folder)
    if (found === undefined) return this.#lend(folder, start(), false)
    if (found.files === filesOf(folder)) return this.#lend(folder, found.engine, true)
    abandon(found.engine)
    return this.#lend(folder, start(), false)
  }

  /** Closes the engines that are kept, and keeps no others. */
  async close(): Promise<void> {
    this.#isEnded = true
    for (const folder of this.#kept.keys()) await this.#end(folder)
  }

  /** The engine for one opening: closing it keeps the engine. */
  #lend(folder: string, engine: PGlite, isUsedAgain: boolean): PGlite {
    const channels = new Set<() => Promise<void>>()
    let isClosed = false
    const open = (): void => {
      if (isClosed) throw new Error('PGlite is closed')
    }
    const wrapper = {
      listen: async (channel: string, wake: (payload: string) => void): Promise<() => Promise<void>> => {
        open()
        const end = await engine.listen(channel, wake)
        channels.add(end)
        return async () => {
          channels.delete(end)
          await end()
        }
      },
      close: async (): Promise<void> => {
        open()
        isClosed = true
        await this.#keep(folder, engine, channels)
      },
    }
    return new Proxy(engine, {
      get(target, key) {
        if (key === 'listen' || key === 'close') return wrapper[key]
        const value: unknown = Reflect.get(target, key, target)
        if (typeof value !== 'function') return value
        open()
        return value.bind(target)
      },
      set(target, key, value) {
        // The statement of an engine that is used again has its replacement (`freeTimers` in src/adapters/pglite/sql.ts).
        return (isUsedAgain && key === 'execProtocolRawSync') || Reflect.set(target, key, value, target)
      },
    })
  }

  async #keep(folder: string, engine: PGlite, channels: Iterable<() => Promise<void>>): Promise<void> {
    try {
      for (const end of channels) await end()
      if (this.#isEnded) {
        await engine.close()
        return
      }
      for (const statement of ['rollback', 'discard all', 'checkpoint']) await engine.exec(statement)
    } catch {
      await engine.close()
      return
    }
    this.#kept.set(folder, { engine, files: filesOf(folder) })
    const [oldest] = this.#kept.keys()
    if (oldest !== undefined && this.#kept.size > MOST_KEPT) await this.#end(oldest)
  }

  async #end(folder: string): Promise<void> {
    const found = this.#kept.get(folder)
    this.#kept.delete(folder)
    if (found === undefined) return
    if (found.files === filesOf(folder)) await found.engine.close()
    else abandon(found.engine)
  }
}

/** Closes the files of an engine without writing, since they belong to another engine now. */
function abandon({ Module: { FS } }: PGlite): void {
  for (const stream of Object.values(FS.streams))
    if (stream !== null && stream !== undefined) {
      try {
        FS.close(stream)
      } catch {
        // The file is gone.
      }
    }
}

/** Keeps the engines of directories that the test file opens, until its end. */
export function keepEngines(): void {
  const engines = new KeptEngines()
  globalThis.keptEngines = engines
  afterAll(() => engines.close())
}
