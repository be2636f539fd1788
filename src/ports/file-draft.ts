/**
 * A file under a temporary name next to its own until it is complete. A process that ends before, or a full disk, leaves
 * the file of that name as it was.
 */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, link, open, readdir, rename, rm, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { PRIVATE_FILE } from './private-files.js'
import { codeOf } from './store-error.js'

/** The end of the name of a draft. */
const SUFFIX = '.part'

/** Removes the drafts of processes that ended. Only for a folder that one process writes to. */
export async function removeDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (name.endsWith(SUFFIX)) await rm(join(folder, name), { force: true })
}

/** Flushes the names in a folder to the disk. If the system cannot sync a folder, the file system has to do it. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}

/** A file that is not complete. Errors are those of the system. */
export class FileDraft {
  private isOpen = true

  private constructor(
    private readonly target: string,
    /** The temporary name, random, so that two processes do not write into the same draft. */
    readonly path: string,
    readonly file: FileHandle,
  ) {}

  /** @param mode of the file; by default only its owner reads it */
  static async open(target: string, mode = PRIVATE_FILE): Promise<FileDraft> {
    const whole = resolve(target)
    const path = join(dirname(whole), `${basename(whole)}.${randomBytes(4).toString('hex')}${SUFFIX}`)
    return new FileDraft(whole, path, await open(path, 'wx', mode))
  }

  /** Flushes the content to the disk; nothing can be written afterwards. */
  async finish(): Promise<void> {
    if (!this.isOpen) return
    await this.file.sync()
    await this.close()
  }

  /** Replaces the file. */
  async replace(): Promise<void> {
    await this.finish()
    await rename(this.path, this.target)
    await syncFolder(dirname(this.target))
  }

  /** Gives the draft its name. Rejects with `EEXIST` if another process created the file meanwhile. */
  async create(): Promise<void> {
    await this.finish()
    // A hard link is atomic. A file system without hard links gets a copy.
    await link(this.path, this.target).catch(async (error: unknown) => {
      if (codeOf(error) === 'EEXIST') throw error
      await copyFile(this.path, this.target, constants.COPYFILE_EXCL)
    })
    await rm(this.path, { force: true })
    await syncFolder(dirname(this.target))
  }

  /** Removes the draft, unless it has its name already. */
  async discard(): Promise<void> {
    await this.close().catch(() => undefined)
    await rm(this.path, { force: true }).catch(() => undefined)
  }

  private async close(): Promise<void> {
    if (!this.isOpen) return
    this.isOpen = false
    await this.file.close()
  }
}

/** Opens a draft, writes the content, and gives it its name. */
async function write(
  target: string,
  content: string | Uint8Array,
  mode: number | undefined,
  put: (draft: FileDraft) => Promise<void>,
): Promise<void> {
  const draft = await FileDraft.open(target, mode)
  try {
    await draft.file.writeFile(content)
    await put(draft)
  } finally {
    await draft.discard()
  }
}

/** Writes a file, or replaces it in one step. */
export const replaceFile = (target: string, content: string | Uint8Array, mode?: number): Promise<void> =>
  write(target, content, mode, (draft) => draft.replace())

/** Writes a new file in one step. Rejects with `EEXIST` if it exists. */
export const createFile = (target: string, content: string | Uint8Array, mode?: number): Promise<void> =>
  write(target, content, mode, (draft) => draft.create())
