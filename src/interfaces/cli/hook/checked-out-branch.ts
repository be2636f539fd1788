/** Reads which branch of git is checked out, without starting git. */
import { readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** These files have one line. */
const MOST_BYTES = 4_000

/** Reads a file. A pipe would never end. */
function readShort(file: string): string {
  const found = statSync(file)
  if (!found.isFile() || found.size > MOST_BYTES) throw new Error(`${file} is no file of git`)
  return readFileSync(file, 'utf8')
}

/** The directory of git for a folder; undefined outside of a repository. */
function gitFolder(folder: string): string | undefined {
  const place = join(folder, '.git')
  const found = statSync(place, { throwIfNoEntry: false })
  if (found?.isDirectory() === true) return place
  if (found?.isFile() === true) {
    // Of a linked worktree, or a submodule.
    const linked = /^gitdir: (?<path>.+)$/mu.exec(readShort(place))?.groups?.['path']
    return linked === undefined ? undefined : resolve(folder, linked)
  }
  const above = dirname(folder)
  return above === folder ? undefined : gitFolder(above)
}

/** The branch in a folder; undefined if there is none, or it cannot be read. */
export function checkedOutBranch(folder: string): string | undefined {
  try {
    const git = gitFolder(resolve(folder))
    if (git === undefined) return undefined
    return /^ref: refs\/heads\/(?<branch>.+)$/mu.exec(readShort(join(git, 'HEAD')))?.groups?.['branch']
  } catch {
    return undefined
  }
}
