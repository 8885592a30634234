import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

interface DialogProps {
  readonly isOpen: Signal<boolean>;
  readonly label: string;
  readonly class: string;
  readonly children: ComponentChildren;
}

/** A modal dialog of the browser: it holds the focus, closes with Esc and gives the focus back. */
export function Dialog({ isOpen, label, class: name, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const shown = isOpen.value;
  useLayoutEffect(() => {
    const dialog = element.current;
    if (shown && dialog?.open === false) {
      dialog.showModal();
      dialog.querySelector('input')?.focus();
    }
    if (!shown && dialog?.open === true) dialog.close();
  }, [shown]);
  return (
    <dialog
      ref={element}
      class={name}
      aria-label={label}
      onCancel={(event) => {
        // Close it by the signal: the event of the browser comes late, and would close a dialog that was opened again meanwhile.
        event.preventDefault();
        isOpen.value = false;
      }}
      onClose={() => {
        if (element.current?.open === false) isOpen.value = false;
      }}
      onClick={(event) => {
        if (event.target === element.current) isOpen.value = false;
      }}
    >
      {shown && children}
    </dialog>
  );
}
