/** The directory with the queue of a push and the state of each transcript. One process at a time uses it. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { socketAddress } from '../../../lib/platform.js'
import { ownFolder } from '../../../lib/user-folders.js'
import { removeDrafts, replaceFile } from '../../../ports/file-draft.js'
import { PRIVATE_FOLDER } from '../../../ports/private-files.js'
import { codeOf } from '../../../ports/store-error.js'
import { UploadFile } from './upload-file.js'

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)

/** The default directory for one service and one scope. */
export const defaultFolder = (url: string, scope: string | undefined): string =>
  ownFolder('state', join('push', digest(JSON.stringify([new URL(url).href, scope]))))

/** A socket that the operating system closes with its process, whatever ends it. */
async function lock(folder: string): Promise<Server> {
  const name = `context-ledger-push-${digest(resolve(folder))}`
  const address = socketAddress(name, [join(tmpdir(), `${name}.sock`)])
  for (let attempt = 1; ; attempt += 1) {
    const server = createServer((socket) => socket.end())
    const error = await new Promise<unknown>((done) => {
      server.once('error', done)
      server.listen(address, () => {
        done(undefined)
      })
    })
    if (error === undefined) return server.unref()
    if (codeOf(error) !== 'EADDRINUSE') throw error
    if (attempt > 2 || (await answers(address)))
      throw new LedgerError(
        'FolderTaken',
        `another process on this machine pushes to this service already (its queue is in ${folder})`,
      )
    // Its process ended without removing it.
    await rm(address, { force: true })
  }
}

const answers = async (address: string): Promise<boolean> =>
  await new Promise((done) => {
    const socket = connect(address)
    socket.once('connect', () => {
      socket.destroy()
      done(true)
    })
    socket.once('error', () => {
      done(false)
    })
  })

export class PushFolder {
  private constructor(
    readonly path: string,
    private readonly server: Server,
  ) {}

  /** Takes the directory for this process. Throws if another process has it. */
  static async open(path: string): Promise<PushFolder> {
    for (const each of ['uploads', 'files']) await mkdir(join(path, each), { recursive: true, mode: PRIVATE_FOLDER })
    const server = await lock(path)
    await removeDrafts(join(path, 'files'))
    return new PushFolder(path, server)
  }

  get uploads(): string {
    return join(this.path, 'uploads')
  }

  /** The uploads of earlier processes, oldest first. Removes unfinished ones: their transcripts are read again. */
  async earlierUploads(): Promise<readonly UploadFile[]> {
    const found: UploadFile[] = []
    const names = await readdir(this.uploads)
    for (const name of names.toSorted()) {
      const id = UploadFile.idOf(name)
      const upload = id === undefined ? undefined : await UploadFile.load(this.uploads, id)
      if (upload !== undefined && upload.lines > 0) found.push(upload)
    }
    const ids = new Set(found.map(({ id }) => id))
    for (const name of names)
      if (!ids.has(name.split('.')[0] ?? '')) await rm(join(this.uploads, name), { force: true })
    return found
  }

  private recordOf(file: string): string {
    return join(this.path, 'files', digest(resolve(file)))
  }

  /** The state of a transcript when it was last read into the queue. */
  async stateOf(file: string): Promise<string | undefined> {
    return await readFile(this.recordOf(file), 'utf8').catch(() => undefined)
  }

  /** Notes that everything of a transcript in this state is in the queue or was sent. */
  async remember(file: string, state: string): Promise<void> {
    await replaceFile(this.recordOf(file), state)
  }

  async close(): Promise<void> {
    await new Promise((done) => {
      this.server.close(done)
    })
  }
}
