import { render } from 'preact';
import { Shell } from './shell/shell.tsx';
import { access, logIn } from './state/api.ts';
import { watchLocation } from './state/location.ts';
import { openStream } from './state/stream.ts';
import { loadWorld } from './state/world.ts';

await logIn();
watchLocation();
if (access.value === 'granted') {
  loadWorld();
  openStream();
}
const root = document.getElementById('console');
if (root !== null) render(<Shell />, root);
