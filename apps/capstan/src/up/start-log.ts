// Log lines and the screen that people read do not mix: while the cluster starts, lines are held back and only warnings are
// kept; they come after the ready screen, or with the error that ended the start.
export interface StartLog {
  write(line: string): void;
  /** From now on lines are written as they come. */
  open(): void;
}

export interface StartLogOptions {
  /** False for those who asked for logs: nothing is held back. */
  isHeld: boolean;
  isWarning(line: string): boolean;
  write(line: string): void;
}

/** More warnings than that at a start are one problem. */
const MAX_HELD = 50;

export function createStartLog({ isHeld, isWarning, write }: StartLogOptions): StartLog {
  const held: string[] = [];
  let isOpen = !isHeld;
  return {
    write(line) {
      if (isOpen) write(line);
      else if (isWarning(line) && held.length < MAX_HELD) held.push(line);
    },
    open() {
      isOpen = true;
      for (const line of held.splice(0)) write(line);
    },
  };
}
